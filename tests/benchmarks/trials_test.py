from pathlib import Path

import pytest

from benchmarks.trials import TRIALS, format_table, left_out, main


class TestTrials:
    def test_every_shortcut_is_left_out_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("benchmarks.workspace.WORK_FOLDER", tmp_path / "work")
        path = tmp_path / "trials.md"
        assert main(["--quick", "--rounds", "1", "--output", str(path)]) == 0
        text = path.read_text()
        assert all(f"\n| {name} |" in text for name in TRIALS)

    def test_time_that_is_lost(self) -> None:
        medians = {"nothing": [100.0, 400.0, 8.0], "scores": [80.0, 400.0, 10.0]}
        *_, scores = format_table(medians).splitlines()
        assert "80 (+25% time) | 400 (+0% time) | 10 (+25% time) |" in scores

    def test_what_is_left_out_is_there_again(self) -> None:
        from bidaf_plugin.fast import products

        before = products.is_onednn_faster
        with left_out(TRIALS["oneDNN"]):
            assert products.is_onednn_faster is not before and not products.is_onednn_faster()
        assert products.is_onednn_faster is before

import json
import os
from pathlib import Path

import pytest

from benchmarks.compare import main
from benchmarks.findings import RATIOS, Findings
from benchmarks.measures import Plan
from benchmarks.systems import BenchmarkError
from benchmarks.workspace import Workspace


@pytest.fixture(autouse=True)
def own_work_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.workspace.WORK_FOLDER", tmp_path / "work")


class TestCompare:
    def test_quick_run_measures_everything_of_ours(self, tmp_path: Path) -> None:
        path = tmp_path / "results" / "quick.json"
        assert main(["--quick", "--ours-only", "--output", str(path)]) == 0
        result = json.loads(path.read_text())
        # Without allennlp-models there is nothing to divide by.
        assert result["ratios"] == dict.fromkeys(RATIOS)
        # What `predict` takes beyond its start-up may vanish in the noise of so short a run.
        assert "predict" in result["measurements"]
        for name in {*RATIOS, "predict_startup", "train_grouped"} - {"predict", "startup"}:
            ours = result["measurements"][name]["ours"]
            assert ours["repetitions"] == len(ours["values"]) == 1
            assert ours["median"] > 0, name
        assert 0 < result["share_of_sgemm"]["train"]["ours"] < 1
        assert result["machine"]["cpu"] and result["versions"]["torch"]
        assert "training" in path.with_suffix(".md").read_text()

    def test_what_is_missing_is_told(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, tmp_path: Path
    ) -> None:
        monkeypatch.delenv("BIDAF_DATA", raising=False)
        assert main(["--ours-only"]) == 1
        assert "BIDAF_DATA" in capsys.readouterr().err
        monkeypatch.setitem(os.environ, "BIDAF_DATA", str(tmp_path))
        assert main(["--ours-only"]) == 1
        assert "train-v1.1.json" in capsys.readouterr().err
        monkeypatch.setattr("benchmarks.compare.is_peer_installed", lambda: False)
        assert main([]) == 1
        assert "make bench" in capsys.readouterr().err

    def test_what_was_measured_before_an_error_is_kept(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        def measure(workspace: Workspace, plan: Plan, findings: Findings) -> None:
            findings.add("train", "training", "examples/s", {"ours": [3.0]})

        def fail(workspace: Workspace, plan: Plan, findings: Findings) -> None:
            raise BenchmarkError("no more")

        monkeypatch.setattr("benchmarks.compare.MEASURES", {"train": measure, "evaluate": fail})
        assert main(["--quick", "--ours-only", "--output", str(tmp_path / "whole.json")]) == 1
        assert not (tmp_path / "whole.json").exists()
        result = json.loads((tmp_path / "partial.json").read_text())
        assert result["error"] == "no more"
        assert result["measurements"]["train"]["ours"]["median"] == 3.0

    def test_unknown_measures_are_refused(self, capsys: pytest.CaptureFixture) -> None:
        with pytest.raises(SystemExit):
            main(["--only", "train,speed"])
        assert "found speed" in capsys.readouterr().err

import json
from pathlib import Path

import pytest

from bidaf_plugin.analysis.variants import (
    format_variants,
    read_finished_runs,
    summarize_variants,
)
from bidaf_plugin.common.errors import DataError

PAPER = {"bidaf": (67.7, 77.3), "beta_mlp": (67.1, 77.0), "alpha_dot": (65.5, 75.5)}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    scores = {"bidaf": 77.0, "bidaf-2": 77.4, "beta_mlp": 77.3, "bidaf_plus": 80.0}
    for name, f1 in scores.items():
        (tmp_path / name).mkdir()
        metrics = {"em": f1 - 10, "f1": f1, "epochs": 4.0, "seed": 1}
        (tmp_path / name / "metrics.json").write_text(json.dumps(metrics))
    (tmp_path / "README.md").touch()
    return tmp_path


class TestFinishedRuns:
    def test_seeds_of_a_variant_are_averaged_and_what_is_missing_is_there(self, runs: Path) -> None:
        summaries = summarize_variants(read_finished_runs(str(runs)), list(PAPER))
        assert [s.variant for s in summaries] == ["bidaf", "beta_mlp", "alpha_dot", "bidaf_plus"]
        bidaf, _, missing, _ = summaries
        assert (bidaf.num_runs, bidaf.em, bidaf.f1) == (2, pytest.approx(67.2), pytest.approx(77.2))
        # The standard deviation of two numbers is their distance over the root of 2.
        assert bidaf.spread == pytest.approx(0.4 / 2**0.5)
        assert (missing.num_runs, missing.em, missing.f1, missing.spread) == (0, None, None, None)

    def test_the_table_has_the_order_and_says_what_is_chance(self, runs: Path) -> None:
        table = format_variants(
            summarize_variants(read_finished_runs(str(runs)), list(PAPER)), PAPER
        )
        rows = {line.split(" | ")[0].strip("| "): line for line in table.splitlines()}
        assert (
            "| 2 | 67.20 | 77.20 ± 0.28 | 67.7 | 77.3 | -0.10, within chance | 2 | 1 |"
            in rows["bidaf"]
        )
        assert "+0.30, within chance | 1 | 2 |" in rows["beta_mlp"]
        assert "| missing |" in rows["alpha_dot"]
        assert rows["bidaf_plus"].endswith("| 80.00 |  |  |  |  |  |")
        assert "standard deviation of 0.28" in table

    def test_without_seeds_nothing_is_said_of_chance(self, runs: Path) -> None:
        (runs / "bidaf-2" / "metrics.json").unlink()
        table = format_variants(
            summarize_variants(read_finished_runs(str(runs)), list(PAPER)), PAPER
        )
        assert "-0.30 |" in table and "within chance" not in table and "cannot be told" in table

    def test_bad_input(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="no folder of a finished run"):
            read_finished_runs(str(tmp_path))
        (tmp_path / "bidaf").mkdir()
        (tmp_path / "bidaf" / "metrics.json").write_text('{"em": 1, "f1": "x"}')
        with pytest.raises(DataError, match="metrics.json: 'f1' must be a number"):
            read_finished_runs(str(tmp_path))

    def test_no_object(self, tmp_path: Path) -> None:
        (tmp_path / "bidaf").mkdir()
        (tmp_path / "bidaf" / "metrics.json").write_text("[1]")
        with pytest.raises(DataError, match="metrics.json: 'em' must be a number"):
            read_finished_runs(str(tmp_path))

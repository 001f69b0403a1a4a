import json
from pathlib import Path

import pytest

from bidaf_plugin.analysis.variants import format_variants, plot_finished, read_finished_runs
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
        _, _, *lines = format_variants(read_finished_runs(str(runs)), PAPER).splitlines()
        rows = [[cell.strip() for cell in line.split("|")[1:5]] for line in lines[:4]]
        # The standard deviation of two numbers is their distance over the root of 2.
        assert rows == [
            ["bidaf", "2", "67.20", f"77.20 ± {0.4 / 2**0.5:.2f}"],
            ["beta_mlp", "1", "67.30", "77.30"],
            ["alpha_dot", "missing", "", ""],
            ["bidaf_plus", "1", "70.00", "80.00"],
        ]

    def test_the_table_has_the_order_and_says_what_is_chance(self, runs: Path) -> None:
        table = format_variants(read_finished_runs(str(runs)), PAPER)
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
        table = format_variants(read_finished_runs(str(runs)), PAPER)
        assert "-0.30 |" in table and "within chance" not in table and "cannot be told" in table

    def test_the_plot_has_a_row_for_each_variant_of_the_paper(
        self, runs: Path, tmp_path: Path
    ) -> None:
        found = read_finished_runs(str(runs))
        _, svg = plot_finished(found, PAPER, str(tmp_path / "variants"))
        picture = Path(svg).read_text()
        for label in ("bidaf", "beta mlp", "alpha dot (missing)"):
            assert f"<!-- {label} -->" in picture
        plot_finished({}, PAPER, str(tmp_path / "nothing"))

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

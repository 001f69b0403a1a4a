import csv
from pathlib import Path
from typing import List

import pytest

from bidaf_plugin.common.errors import DataError
from tests.analysis.comparison_test import BASELINE
from tests.analysis.squad_helpers import question, squad, write
from tests.commands.helpers import run_action
from tests.helpers import REAL_DATA, needs_real_data
from tests.html_helpers import Page

DATA = squad(*(question(str(number)) for number in range(10)), question("unanswered"))
PREDICTIONS = {"0": "Ada Orn", "1": "Orn", **{str(n): "=the quay" for n in range(2, 10)}}


class TestErrors:
    def test_a_sheet_is_drawn_filled_and_read(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        data = write(tmp_path / "data.json", DATA)
        predictions = write(tmp_path / "p.json", PREDICTIONS)
        out = tmp_path / "out"
        run_action("errors", data, predictions, "-n", 100, "-o", out)
        assert "9 of 10 answers are wrong; 1 of them (11.1 %)" in capsys.readouterr().out
        with open(out / "errors.csv", encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["id"] for row in rows] == [str(number) for number in range(1, 10)]
        assert [row["class"] for row in rows] == ["Imprecise answer boundaries"] + [""] * 8
        # A spreadsheet program would take the others for formulas.
        assert [row["prediction"] for row in rows] == ["Orn"] + ["'=the quay"] * 8
        page = Page((out / "errors.html").read_text(encoding="utf-8"))
        assert page.count("form") == 9 and [row["id"] for row in page.data["rows"]] == [
            row["id"] for row in rows
        ]
        page.assert_loads_nothing()

        run_action("errors", "--read", out / "errors.csv")
        table = capsys.readouterr().out
        assert ["in", "all", "1", "100", "100"] in map(str.split, table.splitlines())
        assert "8 answers without a class" in table

    def test_the_seed_decides(self, tmp_path: Path) -> None:
        data = write(tmp_path / "data.json", DATA)
        predictions = write(tmp_path / "p.json", PREDICTIONS)
        sheets = []
        for seed in (1, 1, 2):
            run_action("errors", data, predictions, "-n", 3, "--seed", seed, "-o", tmp_path / "out")
            sheets.append((tmp_path / "out" / "errors.csv").read_bytes())
        assert sheets[0] == sheets[1] != sheets[2]

    @pytest.mark.parametrize(
        "arguments, message",
        [
            ([], "needed are DATA, PREDICTIONS and -o FOLDER, or --read"),
            (["DATA", "PREDICTIONS"], "-o FOLDER"),
            (["DATA", "PREDICTIONS", "-o", "OUT", "-n", "0"], "-n must be at least 1, found 0"),
            (["DATA", "RIGHT", "-o", "OUT"], "there are no wrong answers among 1"),
            (["DATA", "--read", "x.csv"], "goes with nothing else"),
            (["DATA", "PREDICTIONS", "-o", "DATA"], "this is a file, not a folder"),
        ],
    )
    def test_arguments_that_do_not_fit(
        self, tmp_path: Path, arguments: List[str], message: str
    ) -> None:
        paths = {
            "DATA": write(tmp_path / "data.json", DATA),
            "PREDICTIONS": write(tmp_path / "p.json", PREDICTIONS),
            "RIGHT": write(tmp_path / "right.json", {"0": "Ada Orn"}),
            "OUT": str(tmp_path / "out"),
        }
        with pytest.raises(DataError, match=message):
            run_action("errors", *(paths.get(argument, argument) for argument in arguments))
        assert not (tmp_path / "out").exists()

    @needs_real_data
    def test_a_published_system(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert REAL_DATA is not None
        folder = REAL_DATA / "squad"
        predictions = folder / "predictions" / f"{BASELINE}.json.gz"
        run_action("errors", folder / "dev-v1.1.json.gz", predictions, "-o", tmp_path / "out")
        # 10,570 questions without the 13 that have no answer, of which 4,243 are right.
        assert "6,314 of 10,557 answers are wrong" in capsys.readouterr().out
        with open(tmp_path / "out" / "errors.csv", encoding="utf-8-sig", newline="") as file:
            assert len(list(csv.DictReader(file))) == 50

import csv
import json
from pathlib import Path
from typing import Any, List

import pytest

from bidaf_plugin.commands.compare import system_names
from bidaf_plugin.common.errors import DataError
from tests.analysis.comparison_test import BASELINE, R_NET
from tests.analysis.squad_helpers import question, squad, write
from tests.commands.helpers import run_action
from tests.helpers import REAL_DATA, needs_real_data

DATA = squad(question("a"), question("b", ["1871"], "When was it built?"), question("c"))


def read_csv(path: Path) -> List[List[str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


class TestCompare:
    def test_files_and_text(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        data = write(tmp_path / "data.json", DATA)
        first = write(tmp_path / "first.json", {"a": "Ada Orn", "b": "1871", "c": "Jon"})
        second = write(tmp_path / "second.json", {"a": "Ada Orn", "b": "x", "z": "y"})
        folder = tmp_path / "out" / "deep"
        run_action("compare", data, first, second, "-o", folder)
        text = capsys.readouterr().out
        assert "second has 50.00 % of what first answers correctly" in text
        assert "first has 100.00 % of what second answers correctly" in text
        assert ["none", "1", "33.33"] in map(str.split, text.splitlines())

        assert sorted(path.name for path in folder.iterdir()) == [
            "agreement.csv", "comparison.json", "first_words.csv", "first_words.png",
            "first_words.svg", "questions.csv", "venn.csv", "venn.png", "venn.svg",
        ]  # fmt: skip
        regions = read_csv(folder / "venn.csv")
        assert regions[0] == ["first", "second", "questions", "percent"]
        assert [row[:3] for row in regions[1:]] == [
            ["0", "0", "1"], ["1", "0", "1"], ["0", "1", "0"], ["1", "1", "1"],
        ]  # fmt: skip
        words = read_csv(folder / "first_words.csv")
        assert words[1] == ["who", "2", "50.0", "50.0", "50.0", "50.0"]
        assert words[2] == ["when", "1", "100.0", "100.0", "0.0", "0.0"]
        questions = read_csv(folder / "questions.csv")
        assert questions[3][:6] == ["c", "Who built the mill?", "Ada Orn", "Jon", "0", "0.0"]
        assert questions[3][6] == ""
        report = json.loads((folder / "comparison.json").read_text())
        assert report["pairs"][0]["share_of_first"] == 50
        assert report["systems"][1]["missing"] == 1 and report["systems"][1]["extra"] == 1
        assert {"right": ["first"], "questions": 1} in report["regions"]
        agreement = dict(zip(*read_csv(folder / "agreement.csv"), strict=True))
        assert agreement["first"] == "first" and agreement["share_of_first"] == "50.0"
        assert float(agreement["em_difference"]) == pytest.approx(-100 / 3)

    def test_three_systems_with_hostile_names(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        data = write(tmp_path / "data.json", DATA)
        paths = [write(tmp_path / f"{n}.json", {"a": "Ada Orn"}) for n in range(3)]
        names = ["<script>alert(1)</script>", "$\\frac$", "_x\n"]
        run_action(
            "compare", data, *paths, "-o", tmp_path / "out", "--names", *names, "--score", "f1"
        )
        for name in ("venn", "first_words"):
            assert "<script" not in (tmp_path / "out" / f"{name}.svg").read_text()
        assert read_csv(tmp_path / "out" / "venn.csv")[0][:3] == names

    @needs_real_data
    def test_published_systems(self, tmp_path: Path) -> None:
        assert REAL_DATA is not None
        folder = REAL_DATA / "squad"
        predictions = [folder / "predictions" / f"{name}.json.gz" for name in (BASELINE, R_NET)]
        out = tmp_path / "out"
        run_action("compare", folder / "dev-v1.1.json.gz", *predictions, "-o", out)
        words = read_csv(out / "first_words.csv")
        assert [row[0] for row in words[1:5]] == ["what", "how", "who", "when"]
        # The better system is better in every category, as in the paper.
        assert all(float(row[4]) > float(row[2]) for row in words[1:])
        report = json.loads((out / "comparison.json").read_text())
        assert [system["name"] for system in report["systems"]] == [BASELINE, R_NET]
        assert report["systems"][0]["scores"]["exact_match"] == pytest.approx(40.142, abs=1e-3)


class TestSystemNames:
    def test_names_of_files(self) -> None:
        assert system_names(["x/a.json", "b.json.gz", "c.v2.json"]) == ["a", "b", "c.v2"]

    @pytest.mark.parametrize(
        "paths, names, message",
        [
            (["a.json"], None, "two or three prediction files can be compared, not 1"),
            (["a", "b", "c", "d"], None, "not 4"),
            (["x/a.json", "y/a.json"], None, "'a', 'a': use --names"),
            (["a", "b"], ["x"], "--names has 1 names for 2"),
            (["a", "b"], ["x", " "], "a name of its own"),
        ],
    )
    def test_names_that_do_not_fit(self, paths: Any, names: Any, message: str) -> None:
        with pytest.raises(DataError, match=message):
            system_names(paths, names)

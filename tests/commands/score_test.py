import csv
import gzip
import json
from pathlib import Path
from typing import Any, List

import pytest

from bidaf_plugin.commands.score import system_names
from bidaf_plugin.common.errors import DataError
from tests.analysis.comparison_test import BASELINE, R_NET
from tests.analysis.squad_helpers import question, squad, write
from tests.commands.helpers import run_action
from tests.helpers import REAL_DATA, needs_real_data
from tests.html_helpers import Page

DATA = squad(question("a"), question("b", ["1871", "in 1871"], "When was it built?"))
DATA_2 = squad(question("a"), question("b"), question("c", [], is_impossible=True))


class TestScore:
    def test_scores_and_ids_are_said(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        data = write(tmp_path / "data.json", DATA)
        predictions = write(tmp_path / "p.json", {"a": "Orn", "x": "1", "y": "2"})
        run_action("score", data, predictions)
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == f"{predictions}: 1 of 2 questions answered"
        assert lines[1].strip() == "1 missing, which count as wrong; the first is 'b'"
        assert "2 extra ids" in lines[2] and "the first is 'x'" in lines[2]
        # One of the two right words for the first question, nothing for the second.
        f1 = 2 * 1 * 0.5 / (1 + 0.5)
        assert ["exact_match", "0.000"] in map(str.split, lines)
        assert ["f1", f"{100 * f1 / 2:.3f}"] in map(str.split, lines)
        assert ["who", "1", "0.00", f"{100 * f1:.2f}"] in map(str.split, lines)
        assert ["4-5", "1", "0.00", "0.00"] not in map(str.split, lines)

    def test_two_files_as_json(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        data = write(tmp_path / "data.json", DATA)
        first = write(tmp_path / "first.json", {"a": "Ada Orn", "b": "x"})
        second = tmp_path / "second.json.gz"
        second.write_bytes(gzip.compress(json.dumps({"a": "Ada Orn", "b": "1871"}).encode()))
        out = tmp_path / "scores.json"
        run_action("score", data, first, second, "--json", out)
        assert "EM +50.000, 95 % interval" in capsys.readouterr().out
        report = json.loads(out.read_text())
        assert [item["scores"]["exact_match"] for item in report["files"]] == [50, 100]
        assert report["difference"]["em"]["difference"] == 50
        assert 0 < report["difference"]["em"]["p_value"] <= 1
        groups = report["files"][0]["breakdown"]["first word"]
        assert [(group["label"], group["em"]) for group in groups] == [("who", 100), ("when", 0)]

    def test_version_2(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        data = write(tmp_path / "data.json", DATA_2)
        predictions = write(tmp_path / "p.json", {"a": "Ada Orn", "b": "x", "c": "y"})
        probabilities = write(tmp_path / "na.json", {"a": 0.1, "b": 0.6, "c": 0.5})
        out = tmp_path / "scores.json"
        run_action("score", data, predictions, "--na-probabilities", probabilities, "--json", out)
        (item,) = json.loads(out.read_text())["files"]
        assert item["scores"]["exact"] == pytest.approx(100 / 3)
        assert item["scores"]["best_exact"] == pytest.approx(200 / 3)
        assert item["scores"]["best_exact_thresh"] == 0.1
        assert "NoAns_exact" in capsys.readouterr().out
        run_action(
            "score", data, predictions, "--na-probabilities", probabilities, "--json", out,
            "--no-answer-threshold", 0.1,
        )  # fmt: skip
        (item,) = json.loads(out.read_text())["files"]
        assert item["scores"]["exact"] == item["scores"]["best_exact"]
        assert item["scores"]["NoAns_exact"] == 100

    @pytest.mark.parametrize(
        "data, predictions, message",
        [
            (DATA, {"a": None}, "p.json: the answer to 'a' must be a string, found None"),
            (DATA, ["x"], "p.json: expected one JSON object"),
            (DATA, DATA, "p.json: the answer to 'data' must be a string"),
            ({"a": "x"}, {"a": "x"}, "data.json: the key 'data' is missing"),
            (squad(question("a"), question("a")), {"a": "x"}, "the question id 'a' is there twice"),
            (squad(question("a", [])), {"a": "x"}, "'a': there is neither a gold answer"),
        ],
    )
    def test_bad_input_is_one_sentence_and_no_output(
        self, tmp_path: Path, data: Any, predictions: Any, message: str
    ) -> None:
        paths: List[str] = [
            write(tmp_path / "data.json", data), write(tmp_path / "p.json", predictions),
        ]  # fmt: skip
        with pytest.raises(DataError, match=message) as error:
            run_action("score", *paths, "--json", tmp_path / "out.json")
        assert "\n" not in str(error.value)
        assert not (tmp_path / "out.json").exists()

    @pytest.mark.parametrize(
        "data, options, message",
        [
            (DATA, ["--na-probabilities", "NA"], "every question of the data has an answer"),
            (DATA_2, ["--na-probabilities", "NA"] * 2, "2 times, for 1 prediction files"),
            (DATA_2, ["--no-answer-threshold", "0.5"], "needs --na-probabilities"),
            (DATA_2, ["--na-probabilities", "NA"], "no no-answer probability for the question 'a'"),
        ],
    )
    def test_options_that_do_not_fit(
        self, tmp_path: Path, data: Any, options: List[str], message: str
    ) -> None:
        path = write(tmp_path / "data.json", data)
        predictions = write(tmp_path / "p.json", {"a": "x"})
        probabilities = write(tmp_path / "na.json", {"b": 0.5})
        options = [probabilities if option == "NA" else option for option in options]
        with pytest.raises(DataError, match=message):
            run_action("score", path, predictions, *options)

    @needs_real_data
    def test_published_systems_compared(self, tmp_path: Path) -> None:
        assert REAL_DATA is not None
        folder = REAL_DATA / "squad"
        systems = [
            folder / "predictions" / f"{name}.json.gz"
            for name in ("logistic-regression-baseline", "match-lstm-ans-ptr-boundary-ensemble")
        ]
        out = tmp_path / "scores.json"
        run_action("score", folder / "dev-v1.1.json.gz", *systems, "--json", out)
        report = json.loads(out.read_text())
        first, second = report["files"]
        assert (len(first["missing"]), len(first["extra"])) == (13, 28)
        assert (len(second["missing"]), len(second["extra"])) == (0, 0)
        difference = report["difference"]["f1"]
        assert difference["difference"] == pytest.approx(76.756 - 50.982, abs=1e-3)
        # With 10,570 questions the interval is about a percent to each side.
        assert 24 < difference["low"] < difference["difference"] < difference["high"] < 27
        words = [group["label"] for group in first["breakdown"]["first word"]]
        assert words[:4] == ["what", "how", "who", "when"] and words[-1] == "(other)"


COMPARED = squad(question("a"), question("b", ["1871"], "When was it built?"), question("c"))


def read_csv(path: Path) -> List[List[str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


class TestCompare:
    def test_files_and_text(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        data = write(tmp_path / "data.json", COMPARED)
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
        data = write(tmp_path / "data.json", COMPARED)
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


DATA_OF_TEN = squad(*(question(str(number)) for number in range(10)), question("unanswered"))
PREDICTIONS = {"0": "Ada Orn", "1": "Orn", **{str(n): "=the quay" for n in range(2, 10)}}


class TestErrors:
    def test_a_sheet_is_drawn_filled_and_read(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        data = write(tmp_path / "data.json", DATA_OF_TEN)
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
        data = write(tmp_path / "data.json", DATA_OF_TEN)
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
            (
                ["DATA", "PREDICTIONS", "-o", "OUT", "-n", "0"],
                "-n must be at least 1, found 0",
            ),
            (["DATA", "RIGHT", "-o", "OUT"], "there are no wrong answers among 1"),
            (["DATA", "--read", "x.csv"], "goes with nothing else"),
            (["DATA", "PREDICTIONS", "-o", "DATA"], "this is a file, not a folder"),
        ],
    )
    def test_arguments_that_do_not_fit(
        self, tmp_path: Path, arguments: List[str], message: str
    ) -> None:
        paths = {
            "DATA": write(tmp_path / "data.json", DATA_OF_TEN),
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

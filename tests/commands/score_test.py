import gzip
import json
from pathlib import Path
from typing import Any, List

import pytest

from bidaf_plugin.common.errors import DataError
from tests.analysis.squad_helpers import question, squad, write
from tests.commands.helpers import run_action
from tests.helpers import REAL_DATA, needs_real_data

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

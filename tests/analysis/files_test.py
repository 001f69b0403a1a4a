import gzip
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

import pytest

from bidaf_plugin.analysis.files import (
    first_answers,
    is_nbest_file,
    path_beside,
    questions_of,
    read_gold_paragraphs,
    read_nbest,
    read_paragraphs,
    read_predictions,
    read_probabilities,
    write_answers,
    write_json,
    write_nbest,
)
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.folders import check_can_be_written
from bidaf_plugin.modules.ensemble_rules import Candidate
from tests.analysis.squad_helpers import question, squad, write


class TestSquadFiles:
    def test_reads_questions_in_order(self, tmp_path: Path) -> None:
        path = write(tmp_path / "data.json", squad(question("b"), question("a")))
        assert [item.id for item in questions_of(read_gold_paragraphs(path))] == ["b", "a"]

    def test_duplicate_ids_are_refused(self, tmp_path: Path) -> None:
        path = write(tmp_path / "data.json", squad(question("a"), question("b"), question("a")))
        with pytest.raises(DataError, match="paragraph 0: the question id 'a' is there twice"):
            read_paragraphs(path)

    def test_gold_is_an_answer_or_that_there_is_none(self, tmp_path: Path) -> None:
        impossible = question("b", [], is_impossible=True)
        path = write(tmp_path / "data.json", squad(question("a"), impossible))
        assert [item.is_impossible for item in questions_of(read_gold_paragraphs(path))] == [
            False,
            True,
        ]
        path = write(tmp_path / "data.json", squad(question("a"), question("b", [])))
        assert len(read_paragraphs(path)) == 1
        with pytest.raises(DataError, match="question 'b': there is neither a gold answer"):
            read_gold_paragraphs(path)


PREDICTIONS = {"b": "é", "a": ""}


class TestPredictionFiles:
    @pytest.mark.parametrize("name", ["p.json", "p.json.gz"])
    def test_what_is_written_is_read_in_the_same_order(self, tmp_path: Path, name: str) -> None:
        write_json(tmp_path / name, PREDICTIONS)
        read = read_predictions(tmp_path / name)
        assert read == PREDICTIONS and list(read) == list(PREDICTIONS)
        content = (tmp_path / name).read_bytes()
        plain = gzip.decompress(content) if name.endswith(".gz") else content
        assert json.loads(plain) == PREDICTIONS
        assert [path.name for path in tmp_path.iterdir()] == [name]

    def test_the_same_predictions_make_the_same_file(self, tmp_path: Path) -> None:
        for name in ("first.json.gz", "second.json.gz"):
            write_json(tmp_path / name, PREDICTIONS)
        first, second = (path.read_bytes() for path in tmp_path.iterdir())
        assert first == second

    @pytest.mark.parametrize("read", [read_predictions, read_probabilities])
    @pytest.mark.parametrize(
        "content, message",
        [
            (b"{", "not JSON"),
            (b"[1, 2]", r"expected one JSON object \{question id: .*\}, found \[1, 2\]"),
            (b'{"a": null}', "(of|to) 'a' must be .*, found None"),
            (b'{"a": ["x"]}', r"must be .*, found \['x'\]"),
            (b'{"data": [], "version": "1.1"}', r"'data' must be .*, found \[\]"),
            (b'{"a": true}', "must be .*, found True"),
            (b'{"a": 0, "b": 0, "a": 0}', "the key 'a' is there twice"),
            (b'{"a": "\xff"}', "not UTF-8"),
            (b"\x1f\x8b\x08", "the gzip file is truncated or damaged"),
        ],
    )
    def test_anything_else_is_one_sentence(
        self, tmp_path: Path, read: Callable[[Path], Any], content: bytes, message: str
    ) -> None:
        path = tmp_path / "bad.json"
        path.write_bytes(content)
        with pytest.raises(DataError, match=f"bad.json: .*{message}") as error:
            read(path)
        assert "\n" not in str(error.value)

    def test_numbers_are_no_answers_and_texts_no_probabilities(self, tmp_path: Path) -> None:
        path = tmp_path / "file.json"
        path.write_text('{"a": 0.5, "b": 1}')
        assert read_probabilities(path) == {"a": 0.5, "b": 1}
        with pytest.raises(DataError, match="answer to 'a' must be a string, found 0.5"):
            read_predictions(path)
        for value in ('"0.5"', "1.5", "NaN", "-1"):
            path.write_text('{"a": ' + value + "}")
            with pytest.raises(DataError, match="must be a number from 0 to 1"):
                read_probabilities(path)

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="no.json: there is no such file"):
            read_predictions(tmp_path / "no.json")

    @pytest.mark.parametrize(
        "path, expected",
        [
            ("predictions.json", "predictions.nbest.json"),
            ("a.json/p.json.gz", "a.json/p.nbest.json.gz"),
            ("p", "p.nbest"),
        ],
    )
    def test_path_beside(self, path: str, expected: str) -> None:
        assert path_beside(path, "nbest") == expected

    def test_pipes_and_devices_are_written_to_as_they_are(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        check_can_be_written(pipe)
        with ThreadPoolExecutor(1) as thread:
            content = thread.submit(pipe.read_text)
            write_json(pipe, PREDICTIONS)
            assert json.loads(content.result(timeout=10)) == PREDICTIONS
        assert pipe.is_fifo() and [path.name for path in tmp_path.iterdir()] == ["pipe"]

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        target, link = tmp_path / "target.json", tmp_path / "link.json"
        link.symlink_to(target)
        for _ in range(2):
            write_json(link, PREDICTIONS)
            assert link.is_symlink() and read_predictions(target) == PREDICTIONS


class TestNbestFiles:
    @pytest.mark.parametrize("name", ["a.nbest.json", "a.nbest.json.gz"])
    def test_what_is_written_is_read_again(self, tmp_path: Path, name: str) -> None:
        spans = {
            "a": [Candidate((3, 9), 0.123456), Candidate(None, 1e-7)],
            "b": [Candidate((0, 1), 1.0)],
        }
        write_nbest(tmp_path / name, spans)
        assert read_nbest(tmp_path / name) == {
            "a": [Candidate((3, 9), 0.1235), Candidate(None, 1e-7)],
            "b": [Candidate((0, 1), 1.0)],
        }
        assert is_nbest_file(tmp_path / name) and not is_nbest_file("a.json.gz")

    def test_what_answer_writes_is_read_too(self, tmp_path: Path) -> None:
        item = {"text": "x", "probability": 0.5, "characters": [2, 3], "tokens": [1, 1]}
        path = tmp_path / "a.nbest.json"
        path.write_text(json.dumps({"a": [item]}))
        assert read_nbest(path) == {"a": [Candidate((2, 3), 0.5)]}

    @pytest.mark.parametrize(
        "content, fault",
        [
            ([], "expected one JSON object"),
            ({"q": []}, "'q': there must be a list of answers"),
            ({"q": ["x"]}, "'q': 'probability' must be a number"),
            ({"q": [{"characters": [1, 2], "probability": True}]}, "'probability' must be"),
            ({"q": [{"characters": [1, 2], "probability": 2}]}, "'probability' must be"),
            ({"q": [{"characters": [2, 2], "probability": 1}]}, "'characters' must be two rising"),
            ({"q": [{"characters": [-1, 2], "probability": 1}]}, "'characters' must be two rising"),
            (
                {"q": [{"characters": [1, 2.5], "probability": 1}]},
                "'characters' must be two rising",
            ),
            ({"q": [{"probability": 1}]}, "'characters' must be two rising"),
        ],
    )
    def test_faults_are_named(self, tmp_path: Path, content: Any, fault: str) -> None:
        path = tmp_path / "a.nbest.json"
        path.write_text(json.dumps(content))
        with pytest.raises(DataError, match=fault) as error:
            read_nbest(path)
        assert "a.nbest.json" in str(error.value)

    def test_answers_beyond_the_passage_are_of_other_data(self) -> None:
        with pytest.raises(DataError, match="character 90 of a passage of 3; is it about other"):
            first_answers("a.nbest.json", {"q": [Candidate((0, 90), 1.0)]}, {"q": "abc"})
        assert (
            first_answers("a.nbest.json", {"other": [Candidate((0, 90), 1.0)]}, {"q": "abc"}) == {}
        )


class TestWriteAnswers:
    def test_files_beside_the_predictions(self, tmp_path: Path) -> None:
        record = {"id": "a", "best_span_str": "x", "confidence": 0.5}
        path = str(tmp_path / "p.json")
        assert write_answers(path, [record]) == [path]
        more = {**record, "n_best": [{"text": "x"}], "no_answer_probability": 0.25}
        paths = write_answers(path, [more])
        assert [Path(item).name for item in paths] == ["p.nbest.json", "p.na_prob.json", "p.json"]
        assert [json.loads(Path(item).read_text()) for item in paths] == [
            {"a": [{"text": "x"}]},
            {"a": 0.25},
            {"a": "x"},
        ]

import gzip
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

import pytest

from bidaf_plugin.analysis.prediction_files import (
    path_beside,
    read_predictions,
    read_probabilities,
    write_predictions,
)
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.folders import check_can_be_written

PREDICTIONS = {"b": "é", "a": ""}


class TestPredictionFiles:
    @pytest.mark.parametrize("name", ["p.json", "p.json.gz"])
    def test_what_is_written_is_read_in_the_same_order(self, tmp_path: Path, name: str) -> None:
        write_predictions(tmp_path / name, PREDICTIONS)
        read = read_predictions(tmp_path / name)
        assert read == PREDICTIONS and list(read) == list(PREDICTIONS)
        content = (tmp_path / name).read_bytes()
        plain = gzip.decompress(content) if name.endswith(".gz") else content
        assert json.loads(plain) == PREDICTIONS
        assert [path.name for path in tmp_path.iterdir()] == [name]

    def test_the_same_predictions_make_the_same_file(self, tmp_path: Path) -> None:
        for name in ("first.json.gz", "second.json.gz"):
            write_predictions(tmp_path / name, PREDICTIONS)
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
            write_predictions(pipe, PREDICTIONS)
            assert json.loads(content.result(timeout=10)) == PREDICTIONS
        assert pipe.is_fifo() and [path.name for path in tmp_path.iterdir()] == ["pipe"]

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        target, link = tmp_path / "target.json", tmp_path / "link.json"
        link.symlink_to(target)
        for _ in range(2):
            write_predictions(link, PREDICTIONS)
            assert link.is_symlink() and read_predictions(target) == PREDICTIONS

import json
from pathlib import Path
from typing import Any, List

import pytest
import torch
from allennlp.data import Instance
from allennlp.data.fields import MetadataField

from bidaf_plugin.analysis.answer_file import open_answer_file

METADATA: List[Any] = [{"id": number} for number in range(4)]


def lines(path: Path) -> List[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


class TestOpenAnswerFile:
    def test_answers_are_in_the_order_of_the_data(self, tmp_path: Path) -> None:
        path = tmp_path / "answers.jsonl"
        instances = [Instance({"metadata": MetadataField(item)}) for item in METADATA]
        with open_answer_file(str(path), instances) as write:
            for places in ([3, 0], [2, 1]):
                write([METADATA[place] for place in places], [METADATA[place] for place in places])
        assert lines(path) == METADATA

    def test_answers_to_large_data_are_written_as_they_come(self, tmp_path: Path) -> None:
        path = tmp_path / "answers.jsonl"
        with open_answer_file(str(path)) as write:
            write(METADATA[2:], METADATA[2:])
            write(METADATA[:2], METADATA[:2])
        assert lines(path) == METADATA[2:] + METADATA[:2]

    def test_nothing_stays_null_and_tensors_become_numbers(self, tmp_path: Path) -> None:
        path = tmp_path / "answers.jsonl"
        answer = {"name": None, "candidates": [{"name": None, "score": torch.tensor([0.5])}]}
        with open_answer_file(str(path)) as write:
            write([{}], [answer])
        assert lines(path) == [{"name": None, "candidates": [{"name": None, "score": [0.5]}]}]

    def test_a_failure_leaves_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(KeyError), open_answer_file(str(tmp_path / "answers.jsonl")) as write:
            write([{}], [{}])
            raise KeyError
        assert not list(tmp_path.iterdir())

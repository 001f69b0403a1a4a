import re
from pathlib import Path
from typing import List

import pytest

from benchmarks import cloze_reading
from benchmarks.cloze_files import write_files
from benchmarks.cloze_reading import NUM_QUESTIONS, main, measure
from bidaf_plugin.data.dataset_readers import BidafClozeReader, cloze_files
from bidaf_plugin.data.dataset_readers.cloze_question import RawQuestion


def test_the_folder_and_the_packed_file_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--questions", "60"]) == 0
    rows = re.findall(r"^\| (.+?) \| ([\d,]+) \|", capsys.readouterr().out, re.MULTILINE)
    assert [name for name, _ in rows] == ["folder", "packed file"]
    assert all(int(rate.replace(",", "")) > 0 for _, rate in rows)


def test_a_large_folder_is_measured() -> None:
    assert NUM_QUESTIONS > cloze_files.MAX_SORTED


def test_memory_is_looked_at_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, 3)
    events: List[str] = []
    read_file = cloze_files._read_file

    def note_memory() -> float:
        events.append("memory")
        return 1.0

    def note_and_read(path: str) -> RawQuestion:
        events.append("read")
        return read_file(path)

    monkeypatch.setattr(cloze_reading, "resident_memory", note_memory)
    monkeypatch.setattr(cloze_files, "_read_file", note_and_read)
    measured = measure(tmp_path, 3)
    assert events[:2] == ["memory", "read"]
    # Before, and after each of three questions.
    assert measured["memory_mib"] == [1.0] * 4


def test_files_have_the_size_of_those_of_cnn(tmp_path: Path) -> None:
    write_files(tmp_path, 50)
    instances = list(BidafClozeReader().read(str(tmp_path)))
    assert len(instances) == 50
    num_words = sum(len(instance["passage"]) for instance in instances) / 50
    num_candidates = sum(len(i["metadata"]["candidates"]) for i in instances) / 50
    assert 700 < num_words < 820
    assert 20 < num_candidates <= 26

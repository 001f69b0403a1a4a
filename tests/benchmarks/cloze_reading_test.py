import re
from pathlib import Path

import pytest

from benchmarks.cloze_files import write_files
from benchmarks.cloze_reading import main
from bidaf_plugin.dataset_readers import BidafClozeReader


def test_the_folder_and_the_packed_file_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--questions", "60"]) == 0
    rows = re.findall(r"^\| (.+?) \| ([\d,]+) \|", capsys.readouterr().out, re.MULTILINE)
    assert [name for name, _ in rows] == ["folder", "packed file"]
    assert all(int(rate.replace(",", "")) > 0 for _, rate in rows)


def test_files_have_the_size_of_those_of_cnn(tmp_path: Path) -> None:
    write_files(tmp_path, 50)
    instances = list(BidafClozeReader().read(str(tmp_path)))
    assert len(instances) == 50
    num_words = sum(len(instance["passage"]) for instance in instances) / 50
    num_candidates = sum(len(i["metadata"]["candidates"]) for i in instances) / 50
    assert 700 < num_words < 820
    assert 20 < num_candidates <= 26

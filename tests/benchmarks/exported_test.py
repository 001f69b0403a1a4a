import re
from pathlib import Path

import pytest

from benchmarks.exported import main


def test_the_archive_and_the_exported_file_agree(
    tiny_archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tiny_archive), "--quick", "--questions", "30", "--rounds", "1"]) == 0
    printed = capsys.readouterr().out
    assert "answers that differ: 0 of 30" in printed
    assert len(re.findall(r"^\| (?:archive|exported) \|", printed, re.MULTILINE)) == 2

import re
from pathlib import Path
from typing import Dict, Tuple

import pytest

from benchmarks.exported import Answers, main


def test_the_archive_and_the_exported_file_agree(
    tiny_archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tiny_archive), "--quick", "--questions", "30", "--rounds", "1"]) == 0
    printed = capsys.readouterr().out
    assert "answers that differ: 0 of 30" in printed
    assert len(re.findall(r"^\| (?:archive|exported) \|", printed, re.MULTILINE)) == 2


def test_answers_that_differ_are_a_failure(
    tiny_archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(kind: str, path: str, questions: Path) -> Tuple[Dict[str, float], Answers]:
        answers = [{"id": "1", "best_span_str": kind, "confidence": 0.5}]
        return {"load": 1.0, "answer": 1.0}, answers

    monkeypatch.setattr("benchmarks.exported.measure", measure)
    assert main([str(tiny_archive), "--quick", "--questions", "1", "--rounds", "1"]) == 1
    printed = capsys.readouterr()
    assert "answers that differ: 1 of 1" in printed.out
    assert "Error: 1 answers of the exported file differ" in printed.err

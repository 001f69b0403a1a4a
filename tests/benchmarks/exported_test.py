import re
from pathlib import Path
from typing import Any, Dict

import pytest

from benchmarks.exported import compare, installed_megabytes, main


def test_the_archive_and_the_exported_file_agree(
    tiny_archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--quick", "--questions", "30", "--singles", "10", "--rounds", "1"]
    assert main([str(tiny_archive), *options]) == 0
    printed = capsys.readouterr().out
    assert "one by one: answers that differ: 0 of 10, ties: 0" in printed
    assert "together: answers that differ: 0 of 30, ties: 0" in printed
    assert len(re.findall(r"^\| (?:archive|exported|int8) \|", printed, re.MULTILINE)) == 3


def answer_of(text: str, confidence: float) -> Dict[str, Any]:
    return {"id": "1", "best_span_str": text, "confidence": confidence}


def test_answers_that_differ_are_counted_and_ties_apart(
    capsys: pytest.CaptureFixture[str],
) -> None:
    archive = [answer_of("a", 0.5)] * 4
    exported = [
        answer_of("a", 0.500001),
        answer_of("b", 0.500001),
        answer_of("b", 0.50001),
        answer_of("a", 0.6),
    ]
    assert compare("both", archive, exported) == 2
    printed = capsys.readouterr().out
    assert "both: answers that differ: 2 of 4, ties: 1; largest" in printed
    assert "1.0e-01" in printed


def test_answers_that_differ_are_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.exported.run", lambda *arguments: 3)
    assert main(["model.tar.gz", "--quick"]) == 1
    assert "Error: 3 answers of the exported file differ" in capsys.readouterr().err


def test_what_must_be_installed_is_weighed() -> None:
    numpy = installed_megabytes(["numpy"])
    # onnxruntime needs numpy, which counts once.
    assert installed_megabytes(["onnxruntime", "numpy", "NumPy"]) > numpy > 10
    assert installed_megabytes(["no-such-package"]) == 0

"""
The exported file as its users meet it: run by Python, in a process of its own, without AllenNLP and torch.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

import pytest

from bidaf_plugin.archives.load import load_span_predictor
from bidaf_plugin.export import export_archive
from tests.export.helpers import read_records
from tests.helpers import FIXTURES, TINY_SQUAD
from tests.runtime.exported_model_test import assert_same_record


@pytest.fixture(scope="module")
def exported(tiny_archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("exported") / "model.zip"
    export_archive(str(tiny_archive), str(path))
    return path


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, str]:
    """One in which nothing can be imported that a place to serve a model need not have."""
    folder = tmp_path_factory.mktemp("blocked")
    for name in ("allennlp", "torch", "spacy", "bidaf_plugin", "safetensors", "overrides", "onnx"):
        (folder / f"{name}.py").write_text(f"raise ImportError('{name} must not be imported')\n")
    return {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}


def run(
    path: Path, environment: Dict[str, str], *arguments: str, stdin: str = ""
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(path), *arguments],
        env=environment,
        cwd=path.parent,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
    )


def to_lines(records: List[Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


class TestCommand:
    def test_answers_of_the_archive_without_allennlp(
        self, exported: Path, environment: Dict[str, str], tiny_archive: Path, tmp_path: Path
    ) -> None:
        records = read_records(TINY_SQUAD) + read_records(FIXTURES / "squad" / "sample_dev.json")
        questions, answers = tmp_path / "questions.jsonl", tmp_path / "answers.jsonl"
        questions.write_text(to_lines(records))
        ended = run(exported, environment, str(questions), "-o", str(answers), "--n-best", "3")
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout + ended.stderr == ""
        found = [json.loads(line) for line in answers.read_text().splitlines()]
        expected = load_span_predictor(tiny_archive, n_best=3).predict_batch_json(records)
        for answer, expected_answer in zip(found, expected, strict=True):
            assert_same_record(answer, expected_answer)

    def test_one_question_a_pipe_and_an_unpacked_file(
        self, exported: Path, environment: Dict[str, str], tmp_path: Path
    ) -> None:
        record = {"question": "Who planted it?", "passage": "Ada planted it."}
        one = run(
            exported,
            environment,
            *["--question", record["question"], "--passage", record["passage"]],
        )
        assert one.returncode == 0, one.stderr
        answer = json.loads(one.stdout)
        assert answer["id"] == ""
        start, end = answer["best_span_characters"]
        assert record["passage"][start:end] == answer["best_span_str"]
        subprocess.run([sys.executable, "-m", "zipfile", "-e", str(exported), str(tmp_path)])
        piped = run(tmp_path, environment, "-", "--skip-bad", stdin="x\n\n" + to_lines([record]))
        bad, good = map(json.loads, piped.stdout.splitlines())
        assert bad["error"].startswith("line 1: not JSON")
        assert good == answer

    @pytest.mark.parametrize(
        "arguments, stdin, code, message",
        [
            (["-"], '{"question": "x"}\n', 1, "Error: line 1: 'passage' is missing"),
            (["-"], '\n{"question": "x", "passage": " "}', 1, "Error: line 2: 'passage' is empty"),
            (["--question", "x", "--passage", ""], "", 1, "Error: 'passage' is empty"),
            (
                ["-"],
                '{"question": "x", "passage": "y", "id": NaN}',
                1,
                "Error: line 1: not JSON (there are no numbers like NaN)",
            ),
            (["none.jsonl"], "", 1, "none.jsonl: No such file or directory"),
            (["--question", "x"], "", 2, "give either QUESTIONS or both"),
            (["-", "--max-answer-length", "0"], "", 2, "not a whole number, 1 or more"),
        ],
    )
    def test_mistakes_are_one_sentence(
        self,
        exported: Path,
        environment: Dict[str, str],
        arguments: List[str],
        stdin: str,
        code: int,
        message: str,
    ) -> None:
        ended = run(exported, environment, *arguments, stdin=stdin)
        assert ended.returncode == code
        assert message in ended.stderr
        assert "Traceback" not in ended.stderr and ended.stdout == ""

    def test_a_missing_onnxruntime_is_one_sentence(
        self, exported: Path, environment: Dict[str, str], tmp_path: Path
    ) -> None:
        (tmp_path / "onnxruntime.py").write_text("raise ImportError('not here')\n")
        path = f"{tmp_path}{os.pathsep}{environment['PYTHONPATH']}"
        question = ("--question", "Who?", "--passage", "Ada.")
        ended = run(exported, {**environment, "PYTHONPATH": path}, *question)
        assert ended.returncode == 1
        assert "pip install onnxruntime" in ended.stderr and "Traceback" not in ended.stderr

    def test_no_file_of_answers_is_left_by_a_mistake(
        self, exported: Path, environment: Dict[str, str], tmp_path: Path
    ) -> None:
        out = tmp_path / "answers.jsonl"
        ended = run(exported, environment, "-", "-o", str(out), stdin="{}\n")
        assert ended.returncode == 1
        assert list(tmp_path.iterdir()) == []

    def test_is_imported_beside_the_package(
        self, exported: Path, environment: Dict[str, str]
    ) -> None:
        program = (
            f"import sys; sys.path.insert(0, {str(exported)!r}); import bidaf_answer; "
            f"model = bidaf_answer.load({str(exported)!r}); "
            "print(model.answer('Who?', 'Ada did.')['best_span_str']); "
            f"qa = bidaf_answer.pipeline('question-answering', {str(exported)!r}); "
            "print(qa(question='Who?', context='Ada did.')['answer'])"
        )
        ended = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True
        )
        assert ended.returncode == 0, ended.stderr
        assert all(answer in "Ada did." for answer in ended.stdout.split("\n") if answer)

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, List

import pytest
from allennlp.commands import predict
from allennlp.predictors import Predictor

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.tokenizers import PtbTokenizer
from bidaf_plugin.models import AttentionFlow
from bidaf_plugin.upstream.predict_manager import PredictManager, _is_given
from tests.disk_helpers import nearly_full_disk
from tests.helpers import TINY_SQUAD

GOOD = {"id": "a", "question": "Who?", "passage": "It was Ada."}


def run(archive: Path, lines: List[bytes], tmp_path: Path, **predictor_args: Any) -> List[dict]:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(b"\n".join(lines) + b"\n")
    predictor = Predictor.from_path(archive, **predictor_args)
    PredictManager(predictor, str(source), str(target), 2, False, False).run()
    return [json.loads(line) for line in target.read_text().splitlines()]


def mixed_questions() -> List[Dict[str, Any]]:
    """Long and short passages in turn, some of them twice."""
    passages = [("It was Ada. " * (1 + number % 5)).strip() for number in range(12)]
    return [
        {"id": number, "question": "Who was " + "it " * (number % 7) + "?", "passage": passage}
        for number, passage in enumerate(passages)
    ]


def spy_on_batches(monkeypatch: pytest.MonkeyPatch) -> List[int]:
    """A list that receives the sizes of the batches that the model sees."""
    sizes: List[int] = []
    forward = AttentionFlow.forward

    def spy(self: Any, **arguments: Any) -> Any:
        sizes.append(len(arguments["metadata"]))
        return forward(self, **arguments)

    monkeypatch.setattr(AttentionFlow, "forward", spy)
    return sizes


class TestPredictManager:
    def test_is_what_allennlp_predict_uses(self) -> None:
        assert predict._PredictManager is PredictManager

    def test_a_full_disk_leaves_no_part_of_the_answers(
        self, tiny_archive: Path, tmp_path: Path
    ) -> None:
        source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
        source.write_text(f"{json.dumps(GOOD)}\n" * 50)
        predictor = Predictor.from_path(tiny_archive)
        manager = PredictManager(predictor, str(source), str(target), 10, False, False)
        with pytest.raises(OSError, match="File too large") as raised, nearly_full_disk(5000):
            manager.run()
        assert raised.value.filename == str(target)
        assert list(tmp_path.iterdir()) == [source]

    def test_answers_all_lines_in_order(self, tiny_archive: Path, tmp_path: Path) -> None:
        lines = [json.dumps({**GOOD, "id": str(n)}).encode() for n in range(5)]
        lines.insert(2, b"   ")
        answers = run(tiny_archive, lines, tmp_path)
        assert [answer["id"] for answer in answers] == ["0", "1", "2", "3", "4"]

    @pytest.mark.parametrize(
        "bad, message",
        [
            (b"{question", "not JSON"),
            (
                b'{"question": "Who?", "passage": "Ada.", "id": NaN}',
                "there are no numbers like NaN",
            ),
            (b'{"question": "Who?"}', "'passage' is missing"),
            (b'{"question": "Who?", "passage": "caf\xe9"}', "utf-8"),
        ],
    )
    def test_a_bad_line_is_named_and_leaves_no_output(
        self, tiny_archive: Path, tmp_path: Path, bad: bytes, message: str
    ) -> None:
        lines = [json.dumps(GOOD).encode(), b"", bad]
        with pytest.raises(DataError, match=f"in.jsonl, line 3: .*{message}"):
            run(tiny_archive, lines, tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]

    def test_a_link_stays_a_link(self, tiny_archive: Path, tmp_path: Path) -> None:
        (tmp_path / "out.jsonl").symlink_to(tmp_path / "target.jsonl")
        run(tiny_archive, [json.dumps(GOOD).encode()], tmp_path)
        assert (tmp_path / "out.jsonl").is_symlink()
        assert json.loads((tmp_path / "target.jsonl").read_text())["id"] == "a"

    def test_bad_lines_can_be_skipped(
        self, tiny_archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture
    ) -> None:
        lines = [b"nonsense", json.dumps(GOOD).encode(), b'{"passage": "x", "id": "c"}', b"[1]"]
        first, answer, third, fourth = run(tiny_archive, lines, tmp_path, skip_bad=True)
        assert first["line"] == 1 and "not JSON" in first["error"]
        assert answer["id"] == "a" and "best_span_str" in answer
        assert third["line"] == 3 and "'question'" in third["error"]
        # Whoever joins answers by their ids finds it.
        assert third["id"] == "c" and "id" not in first
        assert fourth["line"] == 4 and "id" not in fourth
        summary = capsys.readouterr().err.splitlines()[-1]
        assert summary.startswith("questions answered: 1, lines that could not be used: 3; the ans")

    @pytest.mark.parametrize("at_once", [2_000, 5])
    def test_sorted_batches_do_not_change_answers_or_their_order(
        self, tiny_archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
    ) -> None:
        monkeypatch.setattr("bidaf_plugin.upstream.predict_manager._QUESTIONS_AT_ONCE", at_once)
        questions = mixed_questions()
        answers = run(tiny_archive, [json.dumps(item).encode() for item in questions], tmp_path)
        predictor = Predictor.from_path(tiny_archive)
        for question, answer in zip(questions, answers, strict=True):
            alone = predictor.predict_json(question)
            assert answer["confidence"] == pytest.approx(alone["confidence"], rel=1e-4)
            for key in ("id", "best_span_str", "best_span", "best_span_characters"):
                assert answer[key] == alone[key]

    @pytest.mark.parametrize(
        "batch_size, command_line, expected",
        [
            (1, "predict a b", [12]),
            (1, "predict a b --batch-size 1", [1] * 12),
            (5, "predict a b --batch-size=5", [5, 5, 2]),
        ],
    )
    def test_batches_are_large_unless_a_size_is_given(
        self,
        tiny_archive: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        batch_size: int,
        command_line: str,
        expected: List[int],
    ) -> None:
        sizes = spy_on_batches(monkeypatch)
        monkeypatch.setattr("sys.argv", ["allennlp", *command_line.split()])
        source = tmp_path / "in.jsonl"
        # Twelve passages, so that none are kept together.
        lines = [{**GOOD, "passage": f"It was Ada {number}."} for number in range(12)]
        source.write_text("\n".join(map(json.dumps, lines)))
        predictor = Predictor.from_path(tiny_archive)
        output = str(tmp_path / "out.jsonl")
        PredictManager(predictor, str(source), output, batch_size, False, False).run()
        assert sizes == expected

    def test_several_passages_long_passages_and_n_best(
        self, tiny_archive: Path, tmp_path: Path
    ) -> None:
        settings = {"n_best": 2, "max_passage_tokens": 15}
        questions = [
            {"id": 0, "question": "Who?", "passages": ["It was Ada.", "It was Bob. " * 9]},
            GOOD,
            {"id": 2, "question": "Who?", "passage": "It was Bob. " * 20},
        ]
        lines = [json.dumps(item).encode() for item in questions]
        answers = run(tiny_archive, lines, tmp_path, **settings)
        predictor = Predictor.from_path(tiny_archive, **settings)
        for question, answer in zip(questions, answers, strict=True):
            alone = predictor.predict_json(question)
            assert sorted(answer) == sorted(alone)
            for key in ("id", "best_span_str", "best_span_characters"):
                assert answer[key] == alone[key]
            assert [i["text"] for i in answer["n_best"]] == [i["text"] for i in alone["n_best"]]
            assert len(answer["n_best"]) == 2
        assert ["passage_index" in answer for answer in answers] == [True, False, False]

    def test_a_passage_is_tokenized_once(
        self, tiny_archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        texts: List[str] = []
        batch_tokenize = PtbTokenizer.batch_tokenize

        def spy(self: PtbTokenizer, new_texts: List[str]) -> Any:
            texts.extend(new_texts)
            return batch_tokenize(self, new_texts)

        monkeypatch.setattr(PtbTokenizer, "batch_tokenize", spy)
        run(tiny_archive, [json.dumps(item).encode() for item in mixed_questions()], tmp_path)
        assert len([text for text in texts if "Ada" in text]) == 5

    def test_reads_a_pipe_and_shows_progress(
        self, tiny_archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
    ) -> None:
        lines = "".join(json.dumps(item) + "\n" for item in mixed_questions())
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(lines.encode())))
        predictor = Predictor.from_path(tiny_archive)
        capsys.readouterr()
        PredictManager(predictor, "-", None, 1, True, False).run()
        output, progress = capsys.readouterr()
        shown = [line.split(": ", 1) for line in output.splitlines() if line]
        assert [name for name, _ in shown] == [
            name for number in range(12) for name in (f"input {number}", "prediction")
        ]
        assert [json.loads(text)["id"] for name, text in shown if name == "prediction"] == list(
            range(12)
        )
        assert "12 questions" in progress and "questions/s" in progress
        assert progress.endswith("questions answered: 12\n")

    def test_reads_squad_files(self, tiny_archive: Path, tmp_path: Path) -> None:
        target = tmp_path / "out.jsonl"
        predictor = Predictor.from_path(tiny_archive)
        PredictManager(predictor, str(TINY_SQUAD), str(target), 1, False, True).run()
        assert [json.loads(line)["id"] for line in target.read_text().splitlines()] == [
            f"tiny-{number}" for number in range(1, 6)
        ]

    @pytest.mark.parametrize(
        "command_line, expected",
        [
            ("predict a b", False),
            ("predict a b --batch-size 1", True),
            ("predict a b --batch-size=1 --silent", True),
            ("predict --batch 1 a b", True),
            ("predict a --batch-sizes", False),
        ],
    )
    def test_a_given_option_is_told_from_a_default(self, command_line: str, expected: bool) -> None:
        assert _is_given("--batch-size", command_line.split()) == expected

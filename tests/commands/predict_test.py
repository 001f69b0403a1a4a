import json
from pathlib import Path
from typing import Any, List

import pytest
from allennlp.commands import predict
from allennlp.predictors import Predictor

from bidaf_plugin.commands.predict import PredictManager
from bidaf_plugin.common.errors import DataError

GOOD = {"id": "a", "question": "Who?", "passage": "It was Ada."}


def run(archive: Path, lines: List[bytes], tmp_path: Path, **predictor_args: Any) -> List[dict]:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(b"\n".join(lines) + b"\n")
    predictor = Predictor.from_path(archive, **predictor_args)
    PredictManager(predictor, str(source), str(target), 2, False, False).run()
    return [json.loads(line) for line in target.read_text().splitlines()]


class TestPredictManager:
    def test_is_what_allennlp_predict_uses(self) -> None:
        assert predict._PredictManager is PredictManager

    def test_answers_all_lines_in_order(self, tiny_archive: Path, tmp_path: Path) -> None:
        lines = [json.dumps({**GOOD, "id": str(n)}).encode() for n in range(5)]
        lines.insert(2, b"   ")
        answers = run(tiny_archive, lines, tmp_path)
        assert [answer["id"] for answer in answers] == ["0", "1", "2", "3", "4"]

    @pytest.mark.parametrize(
        "bad, message",
        [
            (b"{question", "not JSON"),
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

    def test_bad_lines_can_be_skipped(self, tiny_archive: Path, tmp_path: Path) -> None:
        lines = [b"nonsense", json.dumps(GOOD).encode(), b'{"passage": "x"}']
        first, answer, third = run(tiny_archive, lines, tmp_path, skip_bad=True)
        assert first["line"] == 1 and "not JSON" in first["error"]
        assert answer["id"] == "a" and "best_span_str" in answer
        assert third["line"] == 3 and "'question'" in third["error"]

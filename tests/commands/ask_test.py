import io
import json
from pathlib import Path

import pytest

from bidaf_plugin.archives import load_span_predictor, packaged
from bidaf_plugin.common.errors import DataError
from tests.commands.helpers import run_action

PASSAGE = "The mill was built by Ada Orn in 1871. " * 4


class TestAsk:
    def test_answers_stand_in_brackets(
        self, tiny_archive: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run_action("ask", "Who built it?", PASSAGE, "--archive", tiny_archive, "--n-best", 2)
        answers = load_span_predictor(str(tiny_archive)).ask("Who built it?", PASSAGE, n_best=2)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 2
        for line, answer in zip(lines, answers, strict=True):
            assert line.startswith(f"{answer.probability:.3f}  ")
            assert f"[{answer.text}]" in line

    def test_files_and_the_standard_input(
        self,
        tiny_archive: Path,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        mill = tmp_path / "mill.txt"
        mill.write_text(PASSAGE, encoding="utf-8")
        monkeypatch.setattr("sys.stdin", io.StringIO("Nobody\nlives there."))
        files = ["--file", mill, "--file", "-"]
        run_action("ask", "Who built the mill?", *files, "--archive", tiny_archive)
        assert f"{mill}: " in capsys.readouterr().out
        monkeypatch.setattr("sys.stdin", io.StringIO("Nobody\nlives there."))
        run_action("ask", "Who?", "--file", "-", "--archive", tiny_archive, "--n-best", 1)
        (line,) = capsys.readouterr().out.splitlines()
        assert line[5:].replace("[", "").replace("]", "") == "  -: Nobody lives there."

    def test_a_record_and_short_answers(
        self, tiny_archive: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        options = ["--archive", tiny_archive, "--json", "--max-answer-length", 1, "--n-best", 2]
        run_action("ask", "Who built it?", PASSAGE, *options)
        predictor = load_span_predictor(str(tiny_archive), max_answer_length=1)
        expected = predictor.predict_json(
            {"question": "Who built it?", "passage": PASSAGE, "n_best": 2}
        )
        assert json.loads(capsys.readouterr().out) == expected
        assert [item["tokens"][1] - item["tokens"][0] for item in expected["n_best"]] == [0, 0]

    def test_the_packaged_model_is_the_default(
        self,
        tiny_archive: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setattr(packaged, "PACKAGED", Path(tiny_archive))
        run_action("ask", "Who built it?", PASSAGE)
        assert len(capsys.readouterr().out.splitlines()) == 3

    def test_what_cannot_be_asked(self, tiny_archive: Path, tmp_path: Path) -> None:
        latin = tmp_path / "latin.txt"
        latin.write_bytes(b"caf\xe9")
        empty = tmp_path / "empty.txt"
        empty.write_text(" \n")
        for arguments, message in (
            ([], "either a PASSAGE or one --file"),
            ([PASSAGE, "--file", latin], "either a PASSAGE or one --file"),
            (["--file", tmp_path / "none.txt"], "none.txt: No such file"),
            (["--file", empty], "empty.txt: there is no text in it"),
            (["--file", latin], "latin.txt: not a text in UTF-8 \\(byte 3\\)"),
            (["", "--archive", tiny_archive], "'passage' is empty"),
        ):
            with pytest.raises(DataError, match=message):
                run_action("ask", "Who?", *arguments)

import gzip
import io
import json
from pathlib import Path
from typing import Any, Dict, List

import pytest
from allennlp.commands.evaluate import evaluate_from_archive

from bidaf_plugin.analysis.files import (
    questions_of,
    read_gold_paragraphs,
    read_predictions,
    read_probabilities,
)
from bidaf_plugin.analysis.scores import score_questions, summarize
from bidaf_plugin.archives import load_span_predictor, packaged
from bidaf_plugin.common.errors import DataError
from tests.analysis.squad_helpers import question, squad, write
from tests.commands.helpers import run_action
from tests.helpers import FIXTURES, SAMPLE_V2, TINY_SQUAD

SAMPLE = FIXTURES / "squad" / "sample_dev.json"


class TestAnswer:
    @pytest.mark.parametrize("version", [1, 2])
    def test_answer_and_score_say_what_evaluate_says(
        self, tiny_archive: Path, v2_archive: Path, tmp_path: Path, version: int
    ) -> None:
        archive, sample = [(tiny_archive, SAMPLE), (v2_archive, SAMPLE_V2)][version - 1]
        article = json.loads(sample.read_text())["data"][0]
        data, out = write(tmp_path / "data.json", {"data": [article]}), tmp_path / "p.json"
        run_action("answer", archive, data, "-o", out)
        summary = summarize(
            score_questions(questions_of(read_gold_paragraphs(data)), read_predictions(out))
        )
        metrics = evaluate_from_archive(
            str(archive), data, metrics_output_file=str(tmp_path / "metrics.json")
        )
        assert metrics["f1"] > 0
        em = summary["exact_match" if version == 1 else "exact"]
        assert em == pytest.approx(metrics["em"], abs=1e-6)
        assert summary["f1"] == pytest.approx(metrics["f1"], abs=1e-6)

    def test_no_answer_probabilities_beside_it(self, v2_archive: Path, tmp_path: Path) -> None:
        predictions: Dict[float, Dict[str, str]] = {}
        for threshold in (0.0, 1.0):
            out = tmp_path / f"{threshold}.json"
            run_action(
                "answer", v2_archive, TINY_SQUAD, "-o", out, "--no-answer-threshold", threshold
            )
            predictions[threshold] = read_predictions(out)
        assert not any(predictions[0.0].values())
        assert all(predictions[1.0].values())
        probabilities = read_probabilities(tmp_path / "1.0.na_prob.json")
        assert list(probabilities) == list(predictions[1.0])

    def test_n_best_beside_it_and_all_gzipped(
        self, tiny_archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        out = tmp_path / "p.json.gz"
        run_action("answer", tiny_archive, TINY_SQUAD, "-o", out, "--n-best", 3)
        assert "p.nbest.json.gz" in capsys.readouterr().out
        assert sorted(path.name for path in tmp_path.iterdir()) == ["p.json.gz", "p.nbest.json.gz"]
        predictions = read_predictions(out)
        lists = json.loads(gzip.decompress((tmp_path / "p.nbest.json.gz").read_bytes()))
        assert list(lists) == list(predictions) == [f"tiny-{number}" for number in range(1, 6)]
        contexts = {
            item["id"]: paragraph["context"]
            for article in json.loads(TINY_SQUAD.read_text())["data"]
            for paragraph in article["paragraphs"]
            for item in paragraph["qas"]
        }
        for id, answers in lists.items():
            assert len(answers) == 3
            probabilities = [answer["probability"] for answer in answers]
            assert probabilities == sorted(probabilities, reverse=True)
            for answer in answers:
                start, end = answer["characters"]
                assert contexts[id][start:end] == answer["text"]

    def test_max_answer_length(self, tiny_archive: Path, tmp_path: Path) -> None:
        out = tmp_path / "p.json"
        run_action("answer", tiny_archive, TINY_SQUAD, "-o", out, "--max-answer-length", 1)
        assert not any(" " in answer for answer in read_predictions(out).values())

    @pytest.mark.parametrize(
        "content, message",
        [
            (squad(question("a"), question("a")), "the question id 'a' is there twice"),
            ({"a": "an answer"}, "the key 'data' is missing"),
            ([], "expected a JSON object"),
        ],
    )
    def test_data_that_cannot_be_answered(
        self, tiny_archive: Path, tmp_path: Path, content: Any, message: str
    ) -> None:
        data = write(tmp_path / "data.json", content)
        with pytest.raises(DataError, match=f"data.json.*{message}"):
            run_action("answer", tiny_archive, data, "-o", tmp_path / "p.json")
        assert [path.name for path in tmp_path.iterdir()] == ["data.json"]

    def test_archives_that_cannot_answer(
        self, tiny_archive: Path, tiny_cloze_archive: Path, tmp_path: Path
    ) -> None:
        truncated = tmp_path / "truncated.tar.gz"
        truncated.write_bytes(tiny_archive.read_bytes()[:2000])
        cases: List[Any] = [
            (truncated, "truncated.tar.gz: "),
            (tiny_cloze_archive, "not a model that answers with spans"),
            (tmp_path / "no.tar.gz", "no.tar.gz: there is no such file"),
        ]
        for archive, message in cases:
            with pytest.raises(DataError, match=message):
                run_action("answer", archive, TINY_SQUAD, "-o", tmp_path / "p.json")
        assert not list(tmp_path.glob("p*"))

    def test_a_folder_that_is_not_there_is_said_at_once(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="there is no such folder"):
            run_action("answer", "no.tar.gz", "no.json", "-o", tmp_path / "no" / "p.json")


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

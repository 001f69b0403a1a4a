import json
from pathlib import Path
from typing import List

import pytest
from allennlp.predictors import Predictor

from bidaf_plugin.analysis import answering
from bidaf_plugin.analysis.answering import (
    answer_paragraphs,
    best_spans,
    find_best_spans,
    write_answers,
)
from bidaf_plugin.analysis.prediction_files import first_answers
from bidaf_plugin.analysis.squad_files import passages_of, read_paragraphs
from bidaf_plugin.archives.load import load_span_predictor
from bidaf_plugin.modules.ensemble_rules import Candidate
from bidaf_plugin.predictors.span_distributions import find_distributions
from tests.analysis.squad_helpers import PASSAGE, question, squad, write
from tests.helpers import TINY_SQUAD

PARAGRAPHS = read_paragraphs(TINY_SQUAD)
PASSAGES = passages_of(PARAGRAPHS)


class TestAnswering:
    @pytest.mark.parametrize("at_once, batch_size", [(2_000, None), (2, 1)])
    def test_answers_are_those_of_the_predictor_in_order(
        self,
        tiny_archive: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        at_once: int,
        batch_size: int,
    ) -> None:
        monkeypatch.setattr(answering, "_QUESTIONS_AT_ONCE", at_once)
        paragraphs = read_paragraphs(TINY_SQUAD)
        answers = answer_paragraphs(load_span_predictor(tiny_archive), paragraphs, batch_size)
        predictor = Predictor.from_path(tiny_archive)
        expected = [
            predictor.predict_json({"id": q.id, "question": q.text, "passage": paragraph.passage})
            for paragraph in paragraphs
            for q in paragraph.questions
        ]
        assert len(answers) == 5
        for answer, alone in zip(answers, expected, strict=True):
            assert answer["confidence"] == pytest.approx(alone["confidence"], rel=1e-4)
            assert {**answer, "confidence": None} == {**alone, "confidence": None}
        assert "5/5" in capsys.readouterr().err

    def test_limits_of_training_leave_nothing_out(self, tiny_archive: Path, tmp_path: Path) -> None:
        long = question("long", text="Who " + "was it who " * 50 + "?")
        data = squad(long)
        # The training reader cuts passages after 400 tokens.
        data["data"][0]["paragraphs"][0]["context"] = PASSAGE + " And so on." * 200
        paragraphs = read_paragraphs(write(tmp_path / "data.json", data))
        (answer,) = answer_paragraphs(load_span_predictor(tiny_archive), paragraphs)
        assert answer["id"] == "long" and answer["best_span_str"]

    def test_files_beside_the_predictions(self, tmp_path: Path) -> None:
        record = {"id": "a", "best_span_str": "x", "confidence": 0.5}
        path = str(tmp_path / "p.json")
        assert write_answers(path, [record]) == [path]
        more = {**record, "n_best": [{"text": "x"}], "no_answer_probability": 0.25}
        paths = write_answers(path, [more])
        assert [Path(item).name for item in paths] == ["p.nbest.json", "p.na_prob.json", "p.json"]
        assert [json.loads(Path(item).read_text()) for item in paths] == [
            {"a": [{"text": "x"}]},
            {"a": 0.25},
            {"a": "x"},
        ]


class TestBestSpans:
    def test_the_first_is_the_models_answer_and_probabilities_fall(
        self, tiny_members: List[str]
    ) -> None:
        predictor = load_span_predictor(tiny_members[0])
        spans = find_best_spans(predictor, PARAGRAPHS)
        answers = first_answers("", spans, PASSAGES)
        for paragraph in PARAGRAPHS:
            for item in paragraph.questions:
                record = predictor.predict(item.text, paragraph.passage)
                assert answers[item.id] == record["best_span_str"]
                probabilities = [candidate.confidence for candidate in spans[item.id]]
                assert probabilities[0] == pytest.approx(record["confidence"], abs=1e-6)
                assert probabilities == sorted(probabilities, reverse=True)
                assert len(set(spans[item.id])) == len(probabilities) == 10

    def test_no_answer_is_one_of_them(self, tiny_members: List[str]) -> None:
        predictor = load_span_predictor(tiny_members[0])
        paragraph = PARAGRAPHS[0]
        record = {"question": paragraph.questions[0].text, "passage": paragraph.passage}
        (distribution,) = find_distributions(predictor, [record])
        distribution = distribution._replace(
            best_span=None, confidence=0.25, no_answer_log_probs=(-0.6931472, -0.6931472)
        )
        first, *others = best_spans(distribution, paragraph.passage)
        assert first == Candidate(None, 0.25)
        assert all(candidate.span is not None for candidate in others) and len(others) == 9

from pathlib import Path

import pytest
import torch

from bidaf_plugin.analysis.answer_logits import collect_logits
from bidaf_plugin.analysis.answering import answer_paragraphs
from bidaf_plugin.analysis.squad_files import read_paragraphs
from bidaf_plugin.archives.load import load_span_predictor
from bidaf_plugin.predictors import SpanPredictor
from tests.helpers import TINY_SQUAD


def set_temperature(predictor: SpanPredictor, temperature: float) -> None:
    predictor._model._output_layer.temperature = temperature


class TestCollectLogits:
    @pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
    def test_confidences_are_those_of_the_model_at_any_temperature(
        self, tiny_archive: Path, temperature: float
    ) -> None:
        predictor = load_span_predictor(tiny_archive)
        paragraphs = read_paragraphs(TINY_SQUAD)
        logits = collect_logits(predictor, paragraphs)
        set_temperature(predictor, temperature)
        answers = answer_paragraphs(predictor, paragraphs)
        assert logits.confidences(temperature) == pytest.approx(
            [answer["confidence"] for answer in answers], rel=1e-4
        )

    @pytest.mark.parametrize("no_answer_logit, num_unanswered", [(-9.0, 0), (9.0, 5)])
    def test_no_answer_is_an_answer(
        self, v2_archive: Path, no_answer_logit: float, num_unanswered: int
    ) -> None:
        predictor = load_span_predictor(v2_archive)
        with torch.no_grad():
            predictor._model._output_layer._no_answer_logits.fill_(no_answer_logit)
        paragraphs = read_paragraphs(TINY_SQUAD)
        logits = collect_logits(predictor, paragraphs)
        set_temperature(predictor, 2.0)
        answers = answer_paragraphs(predictor, paragraphs)
        assert sum(answer["best_span"] is None for answer in answers) == num_unanswered
        assert logits.confidences(2.0) == pytest.approx(
            [answer["confidence"] for answer in answers], rel=1e-4
        )

    def test_right_is_what_is_a_gold_answer(self, tiny_archive: Path) -> None:
        predictor = load_span_predictor(tiny_archive)
        first, *others = read_paragraphs(TINY_SQUAD)
        answers = iter(answer_paragraphs(predictor, [first]))
        # The model is not good enough to be right by itself.
        told = [
            q._replace(
                answers=[q.answers[0]._replace(text=f"The {next(answers)['best_span_str']}!")]
            )
            for q in first.questions
        ]
        wrong = [
            q._replace(answers=[q.answers[0]._replace(text="elsewhere")])
            for paragraph in others
            for q in paragraph.questions
        ]
        paragraphs = [first._replace(questions=told), others[0]._replace(questions=wrong)]
        is_right = collect_logits(predictor, paragraphs).is_right.tolist()
        assert is_right == [True] * len(told) + [False] * len(wrong)

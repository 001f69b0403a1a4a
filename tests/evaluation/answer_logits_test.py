from pathlib import Path

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params

from bidaf_plugin.evaluation.answer_logits import collect_logits
from bidaf_plugin.evaluation.answering import answer_paragraphs
from bidaf_plugin.evaluation.squad_files import read_paragraphs
from bidaf_plugin.predictors import SpanPredictor
from bidaf_plugin.predictors.load import load_span_predictor
from tests.helpers import TINY_SQUAD, tiny_params


@pytest.fixture(scope="module")
def no_answer_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("no_answer") / "run"
    params = tiny_params()
    params["model"]["output_layer"]["no_answer"] = True
    train_model(Params(params), str(folder))
    return folder / "model.tar.gz"


def set_temperature(predictor: SpanPredictor, temperature: float) -> None:
    predictor._model._output_layer._temperature = temperature


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
        self, no_answer_archive: Path, no_answer_logit: float, num_unanswered: int
    ) -> None:
        predictor = load_span_predictor(no_answer_archive)
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
        (first, *others) = read_paragraphs(TINY_SQUAD)
        answers = iter(answer_paragraphs(predictor, [first]))
        # The model is not good enough to be right by itself.
        told = [
            q._replace(answers=[q.answers[0]._replace(text=f"The {next(answers)['best_span_str']}!")])
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

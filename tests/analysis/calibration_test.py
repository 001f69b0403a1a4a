from dataclasses import replace
from pathlib import Path

import numpy
import pytest
import torch

from bidaf_plugin.analysis.answering import answer_paragraphs
from bidaf_plugin.analysis.calibration import (
    AnswerLogits,
    calibration_bins,
    collect_logits,
    describe_calibration,
    expected_calibration_error,
    fit_temperature,
    negative_log_likelihood,
)
from bidaf_plugin.analysis.files import read_paragraphs
from bidaf_plugin.archives.load import load_span_predictor
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.predictors import SpanPredictor
from tests.helpers import TINY_SQUAD


def make_logits(num_questions: int, temperature: float, seed: int = 0) -> AnswerLogits:
    """Answers that are right as often as the logits, divided by the temperature, say."""
    generator = numpy.random.default_rng(seed)
    lengths = generator.integers(2, 9, num_questions)
    first_rows = numpy.cumsum([0, *lengths[:-1]])
    rows = numpy.repeat(numpy.arange(num_questions), lengths)
    start_logits, end_logits = (
        3 * temperature * generator.standard_normal(len(rows)) for _ in range(2)
    )
    answers = AnswerLogits(
        start_logits - numpy.maximum.reduceat(start_logits, first_rows)[rows],
        end_logits - numpy.maximum.reduceat(end_logits, first_rows)[rows],
        first_rows,
        best_scores=numpy.zeros(num_questions),
        is_right=numpy.zeros(num_questions),
    )
    is_right = generator.random(num_questions) < answers.confidences(temperature)
    return replace(answers, is_right=is_right)


class TestAnswerLogits:
    def test_confidences_are_products_of_softmaxes(self) -> None:
        logits = AnswerLogits(
            numpy.array([0.0, -1.0, -2.0, 0.0]),
            numpy.array([-3.0, 0.0, -1.0, 0.0]),
            numpy.array([0, 3]),
            numpy.array([-1.0, 0.0]),
            numpy.array([True, False]),
        )
        for temperature in (0.5, 1.0, 3.0):
            start = numpy.exp(numpy.array([0.0, -1.0, -2.0]) / temperature)
            end = numpy.exp(numpy.array([-3.0, 0.0, -1.0]) / temperature)
            # The best answer of the first question is its second token; the second has one token.
            expected = [start[1] / start.sum() * end[1] / end.sum(), 1.0]
            assert logits.confidences(temperature) == pytest.approx(expected)


class TestFitTemperature:
    @pytest.mark.parametrize("temperature", [0.5, 1.0, 2.5])
    def test_finds_the_temperature_that_the_answers_come_from(self, temperature: float) -> None:
        logits = make_logits(20_000, temperature)
        fitted = fit_temperature(logits)
        assert fitted == pytest.approx(temperature, rel=0.05)
        before, after = (
            expected_calibration_error(calibration_bins(logits.confidences(t), logits.is_right))
            for t in (1.0, fitted)
        )
        assert after < 0.02
        assert after <= before + 1e-3

    @pytest.mark.parametrize("seed", range(5))
    def test_no_other_temperature_is_likelier(self, seed: int) -> None:
        logits = make_logits(300, 1.7, seed)
        fitted = fit_temperature(logits)

        def loss(temperature: float) -> float:
            return negative_log_likelihood(logits.log_confidences(temperature), logits.is_right)

        others = numpy.geomspace(0.05, 20, 200)
        assert loss(fitted) <= min(map(loss, others)) + 1e-6

    @pytest.mark.parametrize("right", [False, True])
    def test_answers_must_be_right_and_wrong(self, right: bool) -> None:
        logits = replace(make_logits(5, 1.0), is_right=numpy.full(5, right))
        with pytest.raises(DataError, match=f"{5 * right} of 5 answers are right"):
            fit_temperature(logits)


class TestBins:
    def test_mean_confidence_and_accuracy_of_each(self) -> None:
        bins = calibration_bins(
            numpy.array([0.0, 0.1, 0.5, 0.6, 0.9, 1.0]), numpy.array([0, 1, 1, 0, 1, 1]), num_bins=2
        )
        assert [(item.low, item.high, item.num_answers) for item in bins] == [
            (0, 0.5, 3),
            (0.5, 1, 3),
        ]
        assert [item.mean_confidence for item in bins] == pytest.approx([0.6 / 3, 2.5 / 3])
        assert [item.accuracy for item in bins] == pytest.approx([2 / 3, 2 / 3])
        error = 3 / 6 * abs(2 / 3 - 0.6 / 3) + 3 / 6 * abs(2 / 3 - 2.5 / 3)
        assert expected_calibration_error(bins) == pytest.approx(error)

    def test_there_are_fifteen_of_equal_width(self) -> None:
        bins = calibration_bins(numpy.array([0.99]), numpy.array([1]))
        assert len(bins) == 15 and bins[-1].num_answers == 1
        assert {round(item.high - item.low, 9) for item in bins} == {round(1 / 15, 9)}

    def test_perfect_confidence_has_no_error(self) -> None:
        bins = calibration_bins(numpy.array([0.0, 1.0, 1.0]), numpy.array([0, 1, 1]))
        assert expected_calibration_error(bins) == 0

    def test_is_described_before_and_after(self) -> None:
        logits = make_logits(1_000, 2.0)
        text = describe_calibration(logits, fit_temperature(logits))
        assert len(text.splitlines()) == 1 + 15 + 2
        assert "expected calibration error on 1,000 questions: 0." in text


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

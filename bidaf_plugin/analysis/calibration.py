"""
Confidences that mean what they say: of the answers with a confidence of 0.7, 70 % should be right.

The model's logits are divided by one number, the temperature ([Guo et al., ICML
2017](https://arxiv.org/abs/1706.04599)). This changes no answer, since it keeps the order of spans. It
is fitted to maximise the likelihood that each best answer, given its confidence `p1 * p2`, is right or
wrong as it is, by exact match with any of the gold answers. The likelihood of gold spans, which is the
usual choice for classifiers, would calibrate `p1` and `p2`, but not their product: the start and
the end of an answer depend on each other, so two answers that are equally likely get 0.5 * 0.5 each
instead of 0.5. Nor does it know that a text is right wherever it stands. People read the confidence of
the best answer, so this is what is fitted.
"""

from dataclasses import dataclass
from math import log
from typing import Dict, List, NamedTuple, Optional, Sequence

import numpy
from scipy.optimize import minimize_scalar

from bidaf_plugin.analysis.answering import distributions_of
from bidaf_plugin.analysis.files import questions_of, records_of
from bidaf_plugin.analysis.formats import align_columns
from bidaf_plugin.analysis.scores import score_questions
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.squad_json import Paragraph
from bidaf_plugin.modules.ensemble_rules import Candidate
from bidaf_plugin.predictors import SpanPredictor

NUM_BINS = 15
_LOWEST_TEMPERATURE, _HIGHEST_TEMPERATURE = 0.001, 1000.0


@dataclass(frozen=True)
class AnswerLogits:
    """
    What the confidences of the answers at any temperature can be computed from, without the model: some
    kilobytes per question.
    """

    # Of all tokens of the first question's passage, then of the second's, and so on. The largest of each
    # question is 0.
    start_logits: numpy.ndarray
    end_logits: numpy.ndarray
    # Where each question begins in them.
    first_rows: numpy.ndarray
    # Shape (num_questions,): the start logit plus the end logit of the best answer.
    best_scores: numpy.ndarray
    # Shape (num_questions,): whether the best answer is a gold answer.
    is_right: numpy.ndarray

    def log_confidences(self, temperature: float) -> numpy.ndarray:
        """Shape `(num_questions,)`: `log(p1 * p2)` of the best answers at a temperature."""
        log_normalizers = [
            numpy.log(numpy.add.reduceat(numpy.exp(logits / temperature), self.first_rows))
            for logits in (self.start_logits, self.end_logits)
        ]
        return self.best_scores / temperature - sum(log_normalizers)

    def confidences(self, temperature: float) -> numpy.ndarray:
        return numpy.exp(self.log_confidences(temperature))


def collect_logits(
    predictor: SpanPredictor, paragraphs: Sequence[Paragraph], batch_size: Optional[int] = None
) -> AnswerLogits:
    """
    Answers all questions, once, and keeps what the confidences depend on. Passages are read whole, so that
    every question has its logits from one pass of the model, in batches of at most `batch_size`.
    """
    records = records_of(paragraphs)
    distributions = distributions_of(predictor, records, batch_size)
    starts, ends, best_scores = [], [], []
    predictions: Dict[str, str] = {}
    for record, distribution in zip(records, distributions, strict=True):
        answer = Candidate(distribution.best_span, distribution.confidence)
        predictions[record["id"]] = answer.text(record["passage"])
        # That there is no answer is one more start and one more end.
        no_answer = distribution.no_answer_log_probs or ()
        start = numpy.append(distribution.start_log_probs, no_answer[:1])
        end = numpy.append(distribution.end_log_probs, no_answer[1:])
        starts.append(start - start.max())
        ends.append(end - end.max())
        best_score = sum(no_answer) if answer.span is None else log(answer.confidence)
        best_scores.append(best_score - start.max() - end.max())
    scores = score_questions(questions_of(paragraphs), predictions)
    return AnswerLogits(
        numpy.concatenate(starts),
        numpy.concatenate(ends),
        numpy.cumsum([0, *map(len, starts[:-1])]),
        numpy.array(best_scores),
        numpy.array([score.em == 1 for score in scores]),
    )


def negative_log_likelihood(log_confidences: numpy.ndarray, is_right: numpy.ndarray) -> float:
    """Of answers being right or wrong as they are, per answer."""
    # An answer that is wrong at a confidence of 1 is infinitely unlikely.
    log_doubts = numpy.log(-numpy.expm1(numpy.minimum(log_confidences, -1e-12)))
    return -float(numpy.where(is_right, log_confidences, log_doubts).mean())


def fit_temperature(logits: AnswerLogits) -> float:
    """The temperature that makes the most of the likelihood."""
    num_right = int(logits.is_right.sum())
    if num_right in (0, len(logits.is_right)):
        raise DataError(
            f"{num_right} of {len(logits.is_right)} answers are right: a temperature can only be fitted "
            "to answers of which some are right and some are wrong"
        )

    def loss(log_temperature: float) -> float:
        temperature = float(numpy.exp(log_temperature))
        return negative_log_likelihood(logits.log_confidences(temperature), logits.is_right)

    # The loss need not have one valley only: the search begins around the deepest point of a grid.
    grid = numpy.log(numpy.geomspace(_LOWEST_TEMPERATURE, _HIGHEST_TEMPERATURE, 31))
    deepest = int(numpy.argmin([loss(point) for point in grid]))
    bounds = (grid[max(deepest - 1, 0)], grid[min(deepest + 1, len(grid) - 1)])
    return float(numpy.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))


class Bin(NamedTuple):
    """The answers with confidences in `(low, high]`; both means are 0 if there are none."""

    low: float
    high: float
    num_answers: int
    mean_confidence: float
    accuracy: float


def calibration_bins(
    confidences: numpy.ndarray, is_right: numpy.ndarray, num_bins: int = NUM_BINS
) -> List[Bin]:
    """Bins of equal width."""
    bin_of_answer = numpy.clip(numpy.ceil(confidences * num_bins).astype(int) - 1, 0, num_bins - 1)
    counts = numpy.bincount(bin_of_answer, minlength=num_bins)
    confidence_sums = numpy.bincount(bin_of_answer, confidences, num_bins)
    right_sums = numpy.bincount(bin_of_answer, is_right, num_bins)
    divisors = numpy.maximum(counts, 1)
    return [
        Bin(number / num_bins, (number + 1) / num_bins, int(count), float(mean), float(accuracy))
        for number, (count, mean, accuracy) in enumerate(
            zip(counts, confidence_sums / divisors, right_sums / divisors, strict=True)
        )
    ]


def expected_calibration_error(bins: List[Bin]) -> float:
    """How far confidence and accuracy are apart, on average over the answers."""
    errors = [item.num_answers * abs(item.accuracy - item.mean_confidence) for item in bins]
    return sum(errors) / sum(item.num_answers for item in bins)


def describe_calibration(logits: AnswerLogits, temperature: float) -> str:
    """What dividing the logits by `temperature` does to the confidences."""
    before = calibration_bins(logits.confidences(1.0), logits.is_right)
    after = calibration_bins(logits.confidences(temperature), logits.is_right)
    rows = [["confidence", "before", "mean", "right", "after", "mean", "right"]]
    for pair in zip(before, after, strict=True):
        row = [f"{pair[0].low:.2f}-{pair[0].high:.2f}"]
        for item in pair:
            means = (f"{item.mean_confidence:.3f}", f"{item.accuracy:.3f}")
            row += [f"{item.num_answers:,}", *(means if item.num_answers else ("", ""))]
        rows.append(row)
    return (
        f"{align_columns(rows)}\n\nexpected calibration error on {len(logits.is_right):,} questions: "
        f"{expected_calibration_error(before):.4f} before, {expected_calibration_error(after):.4f} after"
    )

"""
Answers instead of spans: a text that occurs several times in a passage is one answer.
"""

from itertools import islice
from typing import Dict, Iterable, List, NamedTuple, Optional

import numpy

from bidaf_plugin.nn.spans import ranked_spans


class AnswerOccurrences(NamedTuple):
    """
    An answer, wherever it occurs in a passage.

    first_tokens : `numpy.ndarray`
        The first token of each occurrence, the most probable one first.
    length : `int`
        The number of tokens.
    weight : `float`
        The sum of `exp(start_scores[k] + end_scores[l])` over the occurrences.
    """

    first_tokens: numpy.ndarray
    length: int
    weight: float


def top_answers(
    start_scores: numpy.ndarray,
    end_scores: numpy.ndarray,
    passage: str,
    offsets: numpy.ndarray,
    n: int,
    max_length: Optional[int] = None,
) -> List[AnswerOccurrences]:
    """
    The `n` most probable answers of a passage, where the probability of an answer is the sum of the
    probabilities `p1_k * p2_l` of all spans `(k, l)`, `k <= l`, that read the same: the same words with
    the same characters between them. With `n` as large as the number of answers, these
    probabilities add up to the sum over all spans.

    It is exact, and no (length x length) matrix is made. Spans of one token are compared with each
    other, then those of two, and so on, until no two spans of a length are the same; longer ones are
    then all different, and `ranked_spans` has the best of them. In a usual text this happens after a
    few tokens. In a text that repeats itself the search ends when all spans of a length together would
    not be among the best.

    # Parameters

    start_scores, end_scores : `numpy.ndarray`
        Shape `(length,)`, without padding: `log p1` and `log p2`, each up to a constant.
    passage : `str`
    offsets : `numpy.ndarray`
        Shape `(2, length)`: the first character of each token, and one past its last.
    n : `int`
    max_length : `int`, optional (default = `None`)
        Only spans of at most this many tokens.

    # Returns

    `List[AnswerOccurrences]`
        The most probable first; fewer than `n` if there are no more.
    """
    length = len(start_scores)
    max_length = length if max_length is None else min(max_length, length)
    start_weights, end_weights = numpy.exp(start_scores), numpy.exp(end_scores)
    starts, ends = offsets.tolist()
    # A span is known by the number of the span without its last token, and by what that token adds.
    additions = _number(passage[before:end] for before, end in zip([0, *ends], ends, strict=False))
    numbers = _number(passage[start:end] for start, end in zip(starts, ends, strict=True))
    most_of_longer = _bound_weights(start_weights, end_weights)
    answers: List[AnswerOccurrences] = []
    for span_length in range(1, max_length + 1):
        least = answers[-1].weight if len(answers) == n else 0.0
        if most_of_longer[span_length - 1] <= least:
            break
        different, numbers = numpy.unique(numbers, return_inverse=True)
        if len(different) == len(numbers):
            answers += _top_spans(span_length, start_weights, end_weights, n, max_length)
            break
        weights = start_weights[: len(numbers)] * end_weights[span_length - 1 :]
        answers = _rank(answers + _better_of_length(span_length, numbers, weights, n, least))[:n]
        numbers = numbers[:-1] * length + additions[span_length:]
    return _rank(answers)[:n]


def _bound_weights(start_weights: numpy.ndarray, end_weights: numpy.ndarray) -> numpy.ndarray:
    """For each length from 1, the most that an answer of at least this length can weigh."""
    # Shape: (length,), the sum over all spans of a length
    totals = numpy.correlate(end_weights, start_weights, "full")[len(start_weights) - 1 :]
    # A little more, for rounding.
    return numpy.maximum.accumulate(totals[::-1])[::-1] * (1 + 1e-9)


def _rank(answers: List[AnswerOccurrences]) -> List[AnswerOccurrences]:
    return sorted(answers, key=lambda answer: -answer.weight)


def _number(texts: Iterable[str]) -> numpy.ndarray:
    """The same number for the same text."""
    numbers: Dict[str, int] = {}
    return numpy.array([numbers.setdefault(text, len(numbers)) for text in texts])


def _better_of_length(
    length: int, numbers: numpy.ndarray, weights: numpy.ndarray, n: int, least: float
) -> List[AnswerOccurrences]:
    """
    The `n` best answers of a length that have more than the `least` weight, given the number of the
    answer that begins at each token.
    """
    totals = numpy.bincount(numbers, weights)
    (better,) = numpy.nonzero(totals > least)
    answers = []
    for number in better[numpy.argsort(-totals[better], kind="stable")][:n]:
        (first_tokens,) = numpy.nonzero(numbers == number)
        first_tokens = first_tokens[numpy.argsort(-weights[first_tokens], kind="stable")]
        answers.append(AnswerOccurrences(first_tokens, length, float(totals[number])))
    return answers


def _top_spans(
    min_length: int,
    start_weights: numpy.ndarray,
    end_weights: numpy.ndarray,
    n: int,
    max_length: int,
) -> List[AnswerOccurrences]:
    """The best answers of at least some length, at which all spans are different."""
    # With `min_length - 1` tokens less at its end, a span may have any length from 1.
    num_removed = min_length - 1
    starts = numpy.arange(len(start_weights) - num_removed)
    spans = ranked_spans(
        starts,
        start_weights[None, : len(starts)],
        starts + 1,
        end_weights[None, num_removed:],
        max_length - num_removed,
    )
    return [
        AnswerOccurrences(numpy.array([start]), end - start + num_removed, weight)
        for start, end, weight in islice(spans, n)
        if weight > 0
    ]

"""
Answers instead of spans: a text that stands in several places of a passage is one answer.
"""

from typing import Dict, Iterable, List, NamedTuple, Optional

import numpy
import torch

from bidaf_plugin.nn.spans import top_spans


class DistinctAnswer(NamedTuple):
    """
    All places of an answer in a passage.

    first_tokens : `numpy.ndarray`
        The first token of each place, the most probable place first.
    length : `int`
        The number of tokens.
    weight : `float`
        The sum of `exp(start_scores[k] + end_scores[l])` over the places.
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
) -> List[DistinctAnswer]:
    """
    The `n` most probable answers of a passage, where the probability of an answer is the sum of the
    probabilities `p1_k * p2_l` of all spans `(k, l)`, `k <= l`, that read the same: the same words with
    the same characters between them. With `n` as large as the number of answers, these
    probabilities add up to the sum over all spans.

    The answer is exact, and no (length x length) matrix is made. Spans of one token are compared with
    each other, then those of two, and so on, until no two spans of a length are the same; longer
    ones are then all different, and `top_spans` has the best of them. In a usual text this happens
    after a few tokens. In a text that repeats itself it ends when all spans of a length together would
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

    `List[DistinctAnswer]`
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
    answers: List[DistinctAnswer] = []
    span_length = 1
    while span_length <= max_length:
        least = answers[-1].weight if len(answers) == n else 0.0
        if most_of_longer[span_length - 1] <= least:
            return answers
        distinct, numbers = numpy.unique(numbers, return_inverse=True)
        if len(distinct) == len(numbers):
            break
        weights = start_weights[: len(numbers)] * end_weights[span_length - 1 :]
        better = _better_of_length(span_length, numbers, weights, n, least)
        answers = _rank(answers + better)[:n]
        numbers = numbers[:-1] * length + additions[span_length:]
        span_length += 1
    if span_length <= max_length:
        answers += _top_of_longer(span_length, start_scores, end_scores, n, max_length)
    return _rank(answers)[:n]


def _bound_weights(start_weights: numpy.ndarray, end_weights: numpy.ndarray) -> numpy.ndarray:
    """For each length from 1, the most that an answer of at least this length can weigh."""
    # Shape: (length,), the sum over all spans of a length
    totals = numpy.correlate(end_weights, start_weights, "full")[len(start_weights) - 1 :]
    # A little more, for rounding.
    return numpy.maximum.accumulate(totals[::-1])[::-1] * (1 + 1e-9)


def _rank(answers: List[DistinctAnswer]) -> List[DistinctAnswer]:
    return sorted(answers, key=lambda answer: -answer.weight)


def _number(texts: Iterable[str]) -> numpy.ndarray:
    """The same number for the same text."""
    numbers: Dict[str, int] = {}
    return numpy.array([numbers.setdefault(text, len(numbers)) for text in texts])


def _better_of_length(
    length: int, numbers: numpy.ndarray, weights: numpy.ndarray, n: int, least: float
) -> List[DistinctAnswer]:
    """
    The `n` best answers of a length that have more than the `least` weight, given the number of the
    answer that begins at each token.
    """
    totals = numpy.bincount(numbers, weights)
    (better,) = numpy.nonzero(totals > least)
    answers = []
    for number in better[numpy.argsort(-totals[better], kind="stable")][:n]:
        (places,) = numpy.nonzero(numbers == number)
        places = places[numpy.argsort(-weights[places], kind="stable")]
        answers.append(DistinctAnswer(places, length, float(totals[number])))
    return answers


def _top_of_longer(
    min_length: int,
    start_scores: numpy.ndarray,
    end_scores: numpy.ndarray,
    n: int,
    max_length: int,
) -> List[DistinctAnswer]:
    """The best answers of at least some length, at which all spans are different."""
    # A span that is so much shorter at its end may have any length from 1.
    # Shape: (1, length - min_length + 1)
    start_tensor = torch.from_numpy(start_scores[: len(start_scores) - min_length + 1]).unsqueeze(0)
    end_tensor = torch.from_numpy(end_scores[min_length - 1 :]).unsqueeze(0)
    spans, scores = top_spans(start_tensor, end_tensor, n, max_length - min_length + 1)
    return [
        DistinctAnswer(numpy.array([first]), last - first + min_length, weight)
        for (first, last), weight in zip(spans[0].tolist(), scores[0].exp().tolist(), strict=True)
        if weight > 0
    ]

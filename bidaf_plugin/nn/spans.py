"""
Decoding of answer spans: the best one of each passage of a batch, and all of one passage in their order.
"""

import heapq
from itertools import repeat
from typing import Any, Iterator, List, Optional, Tuple

import numpy
import torch


def best_span(
    start_scores: torch.Tensor, end_scores: torch.Tensor, max_length: Optional[int] = None
) -> Tuple[torch.Tensor, torch.Tensor]:
    """
    The span `(k, l)` with `k <= l` that has the largest `start_scores[k] + end_scores[l]`. With
    log-probabilities as scores this is the largest `p1_k * p2_l` of the paper, which it computes "in
    linear time with dynamic programming": for each end `l` the best start is a running maximum. No
    (length x length) matrix is made.

    # Parameters

    start_scores, end_scores : `torch.Tensor`
        Shape `(batch_size, length)`; padding holds the smallest value of the type.
    max_length : `int`, optional (default = `None`)
        Only spans of at most this many tokens.

    # Returns

    spans : `torch.LongTensor`
        Shape `(batch_size, 2)`: first and last (inclusive) token.
    scores : `torch.Tensor`
        Shape `(batch_size,)`.
    """
    if max_length is None or max_length >= start_scores.size(1):
        # Shape: (batch_size, length) for both
        best_starts, start_indices = start_scores.cummax(dim=1)
    else:
        best_starts, start_indices = sliding_max(start_scores, max_length)
    # Shape: (batch_size,) for both
    scores, ends = (best_starts + end_scores).max(dim=1)
    # Shape: (batch_size,)
    starts = start_indices.gather(1, ends.unsqueeze(1)).squeeze(1)
    return torch.stack([starts, ends], dim=-1), scores


def sliding_max(values: torch.Tensor, window: int) -> Tuple[torch.Tensor, torch.Tensor]:
    """
    The largest of the last `window` values at each position, and its index: the last one of several, as in
    `torch.cummax`.

    # Parameters

    values : `torch.Tensor`
        Shape `(batch_size, length)`.

    # Returns

    `Tuple[torch.Tensor, torch.LongTensor]`
        Both of shape `(batch_size, length)`.
    """
    # Pooling looks ahead and takes the first of equal values, so it goes from right to left.
    padded = torch.nn.functional.pad(values.flip(1), (0, window - 1), value=-torch.inf)
    largest, indices = torch.nn.functional.max_pool1d(padded, window, stride=1, return_indices=True)
    return largest.flip(1), values.size(1) - 1 - indices.flip(1)


def ranked_spans(
    starts: numpy.ndarray,
    start_weights: numpy.ndarray,
    ends: numpy.ndarray,
    end_weights: numpy.ndarray,
    max_length: Optional[int] = None,
) -> Iterator[Tuple[int, int, float]]:
    """
    All spans from one of `starts` to a later one of `ends`, by falling score
    `sum_m start_weights[m, k] * end_weights[m, l]`.

    This is a best-first search, and exact: no span from `k` scores above
    `sum_m start_weights[m, k] * max_l end_weights[m, l]`, so a start is only looked at when no better
    span is left elsewhere. The first few spans come in about linear time, and no (length x length)
    matrix is made.

    # Parameters

    starts : `numpy.ndarray`
        Shape `(num_starts,)`: where a span can begin, rising.
    start_weights : `numpy.ndarray`
        Shape `(num_terms, num_starts)`, not negative.
    ends : `numpy.ndarray`
        Shape `(num_ends,)`: where a span can end (one past its last character), rising.
    end_weights : `numpy.ndarray`
        Shape `(num_terms, num_ends)`, not negative.
    max_length : `int`, optional (default = `None`)
        Only spans with at most so many of `starts` in them.

    # Returns

    `Iterator[Tuple[int, int, float]]`
        Start, end and score. Of equal scores the first start comes first.
    """
    # Where all is cut into tokens the same way, this is 1, 2, 3, ...
    # Shape: (num_ends,)
    num_starts_before = numpy.searchsorted(starts, ends)
    # The ends that belong to a start: from the first that follows it to the last within the limit.
    # Shape: (num_starts,) for all
    indices = numpy.arange(len(starts))
    first_ends = numpy.searchsorted(num_starts_before, indices, side="right")
    limit = len(starts) if max_length is None else max_length
    last_ends = numpy.searchsorted(num_starts_before, indices + limit, side="right")

    # The largest weight at an end or later, and 0 behind the last end.
    # Shape: (num_terms, num_ends + 1)
    largest = numpy.pad(end_weights, ((0, 0), (0, 1)))[:, ::-1]
    largest = numpy.maximum.accumulate(largest, axis=1)[:, ::-1]
    # Shape: (num_starts,)
    bounds = (start_weights * largest[:, first_ends]).sum(axis=0)

    def spans_from(start: int) -> Iterator[Tuple[float, int]]:
        first, last = first_ends[start], last_ends[start]
        # Shape: (last - first,)
        scores = start_weights[:, start] @ end_weights[:, first:last]
        for index in numpy.argsort(-scores, kind="stable").tolist():
            yield float(scores[index]), first + index

    # A start with the bound of its spans, or with the best of those that are left and the rest. There
    # is one entry per start, so nothing beyond it is ever compared.
    heap: List[Tuple[float, int, int, Any]] = list(
        zip((-bounds).tolist(), range(len(starts)), repeat(-1), repeat(None))
    )
    heapq.heapify(heap)
    while heap:
        negative_score, start, end, rest = heapq.heappop(heap)
        if rest is None:
            rest = spans_from(start)
        else:
            yield int(starts[start]), int(ends[end]), -negative_score
        for score, next_end in rest:
            heapq.heappush(heap, (-score, start, next_end, rest))
            break

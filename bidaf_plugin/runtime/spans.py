"""
The spans of a passage in the order of their scores.
"""

import heapq
from itertools import repeat
from typing import Any, Iterator, List, Optional, Tuple

import numpy


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

from itertools import islice
from typing import List, Optional, Tuple

import numpy
import pytest

from bidaf_plugin.runtime.spans import ranked_spans


def all_spans(
    starts: numpy.ndarray,
    start_weights: numpy.ndarray,
    ends: numpy.ndarray,
    end_weights: numpy.ndarray,
    max_length: Optional[int],
) -> List[Tuple[int, int, float]]:
    """The same by looking at every pair."""
    spans = [
        (start, end, float(start_weights[:, first] @ end_weights[:, last]))
        for first, start in enumerate(starts.tolist())
        for last, end in enumerate(ends.tolist())
        if start < end
        and (max_length is None or sum(start <= other < end for other in starts) <= max_length)
    ]
    return sorted(spans, key=lambda span: -span[2])


class TestRankedSpans:
    @pytest.mark.parametrize("seed", range(40))
    def test_equals_brute_force(self, seed: int) -> None:
        draw = numpy.random.default_rng(seed)
        cuts = numpy.sort(draw.choice(60, size=2 * draw.integers(1, 12), replace=False))
        # Tokens of one tokenizer in the first half of the cases, any mixture in the second.
        starts, ends = cuts[::2], cuts[1::2]
        if seed >= 20:
            starts = numpy.union1d(starts, draw.choice(cuts[:-1], size=3))
            ends = numpy.union1d(ends, draw.choice(cuts[1:], size=3))
        num_terms = int(draw.integers(1, 5))
        start_weights = draw.random((num_terms, len(starts))) ** 4
        end_weights = draw.random((num_terms, len(ends))) ** 4
        max_length = [None, 1, 3][seed % 3]
        found = list(ranked_spans(starts, start_weights, ends, end_weights, max_length))
        expected = all_spans(starts, start_weights, ends, end_weights, max_length)
        assert [span[:2] for span in found] == [span[:2] for span in expected]
        assert [span[2] for span in found] == pytest.approx([span[2] for span in expected])

    def test_equal_scores_come_from_left_to_right(self) -> None:
        starts, ends = numpy.array([0, 5]), numpy.array([4, 9])
        ones = numpy.ones((1, 2))
        spans = [span[:2] for span in ranked_spans(starts, ones, ends, ones)]
        assert spans == [(0, 4), (0, 9), (5, 9)]

    def test_the_best_spans_of_a_very_long_text(self) -> None:
        length = 100_000
        draw = numpy.random.default_rng(1)
        starts = numpy.arange(length) * 3
        weights = [numpy.exp(8 * draw.standard_normal((3, length))) for _ in range(2)]
        best = list(islice(ranked_spans(starts, weights[0], starts + 2, weights[1]), 5))
        scores = [score for _, _, score in best]
        assert scores == sorted(scores, reverse=True)
        for start, end, score in best:
            first, last = start // 3, (end - 2) // 3
            assert score == pytest.approx(weights[0][:, first] @ weights[1][:, last])

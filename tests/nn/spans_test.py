from itertools import islice
from typing import List, Optional, Tuple

import numpy
import pytest
import torch

from bidaf_plugin.nn.spans import best_span, ranked_spans, sliding_max


def brute_force(start: torch.Tensor, end: torch.Tensor, max_length: Optional[int]) -> float:
    length = len(start)
    return max(
        float(start[k] + end[l])
        for k in range(length)
        for l in range(k, min(length, k + (max_length or length)))  # noqa: E741
    )


class TestBestSpan:
    @pytest.mark.parametrize("max_length", [None, 1, 2, 3, 5, 8, 100])
    def test_equals_brute_force(self, max_length: Optional[int]) -> None:
        torch.manual_seed(0)
        for length in (1, 2, 3, 7, 8, 13):
            start, end = torch.randn(20, length).double(), torch.randn(20, length).double()
            spans, scores = best_span(start, end, max_length)
            for row in range(20):
                first, last = spans[row].tolist()
                assert 0 <= first <= last < length
                assert last - first + 1 <= (max_length or length)
                assert float(start[row, first] + end[row, last]) == float(scores[row])
                assert float(scores[row]) == brute_force(start[row], end[row], max_length)

    def test_the_end_is_never_before_the_start(self) -> None:
        # Apart, the best start is 2 and the best end 0.
        spans, _ = best_span(torch.tensor([[0.1, 0.0, 0.9]]), torch.tensor([[0.9, 0.2, 0.1]]))
        assert spans.tolist() == [[0, 0]] or spans.tolist() == [[2, 2]]
        spans, _ = best_span(torch.tensor([[0.5, 0.0, 0.9]]), torch.tensor([[0.0, 0.8, 0.1]]))
        assert spans.tolist() == [[0, 1]]

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("max_length", [None, 2])
    def test_padding_is_never_chosen_in_any_precision(
        self, dtype: torch.dtype, max_length: Optional[int]
    ) -> None:
        lowest = torch.finfo(dtype).min
        start = torch.tensor([[-9.0, -8.0, lowest, lowest, lowest]], dtype=dtype)
        end = torch.tensor([[-9.0, -9.5, lowest, lowest, lowest]], dtype=dtype)
        spans, scores = best_span(start, end, max_length)
        assert spans.tolist() == [[1, 1]]
        assert scores.tolist() == [-8.0 + -9.5]

    def test_makes_no_square_matrix(self) -> None:
        # 200,000 tokens: a (length x length) matrix would need 160 GB.
        start, end = torch.zeros(1, 200_000), torch.zeros(1, 200_000)
        start[0, 1_000] = end[0, 150_000] = 1.0
        assert best_span(start, end)[0].tolist() == [[1_000, 150_000]]


class TestSlidingMax:
    @pytest.mark.parametrize("window", [1, 2, 3, 4, 7])
    def test_equals_the_definition(self, window: int) -> None:
        torch.manual_seed(1)
        for length in (1, 3, 4, 10, 11):
            values = torch.randn(3, length)
            largest, indices = sliding_max(values, window)
            for position in range(length):
                expected = values[:, max(position - window + 1, 0) : position + 1].max(dim=1)
                assert torch.equal(largest[:, position], expected.values)
            assert torch.equal(values.gather(1, indices), largest)

    def test_of_equal_values_the_last_counts_as_with_cummax(self) -> None:
        values = torch.tensor([[1.0, 2.0, 2.0, 0.0, 0.0, -torch.inf]])
        assert sliding_max(values, 3)[1].tolist() == [[0, 1, 2, 2, 2, 4]]
        assert torch.equal(sliding_max(values, 6)[1], values.cummax(dim=1).indices)


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

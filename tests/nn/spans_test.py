from typing import Dict, Optional, Tuple

import pytest
import torch

from bidaf_plugin.nn.spans import best_span, sliding_max, top_spans


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


def all_spans(
    start: torch.Tensor, end: torch.Tensor, max_length: Optional[int]
) -> Dict[Tuple[int, int], float]:
    """The scores of all spans of a passage, without its padding."""
    lowest = torch.finfo(start.dtype).min
    length = int((start > lowest).sum())
    return {
        (k, l): float(start[k] + end[l])
        for k in range(length)
        for l in range(k, min(length, k + (max_length or length)))  # noqa: E741
    }


class TestTopSpans:
    @pytest.mark.parametrize("max_length", [None, 1, 2, 3, 5, 100])
    @pytest.mark.parametrize("n", [1, 2, 5, 30])
    @pytest.mark.parametrize("with_ties", [False, True])
    def test_equals_brute_force(self, n: int, max_length: Optional[int], with_ties: bool) -> None:
        torch.manual_seed(n)
        for length in (1, 2, 3, 7, 13):
            start, end = torch.randn(2, 10, length).double().unbind()
            if with_ties:
                start, end = start.round(), end.round()
            # Some passages are shorter.
            mask = torch.arange(length) < torch.randint(1, length + 1, (10, 1))
            lowest = torch.finfo(start.dtype).min
            start, end = (scores.masked_fill(~mask, lowest) for scores in (start, end))
            spans, scores = top_spans(start, end, n, max_length)
            for row in range(10):
                expected = all_spans(start[row], end[row], max_length)
                found = [
                    (first, last)
                    for (first, last), score in zip(
                        spans[row].tolist(), scores[row].tolist(), strict=True
                    )
                    if score > -torch.inf
                ]
                assert len(set(found)) == len(found) == min(n, len(expected))
                # The same scores; where some are equal, any of their spans will do.
                assert scores[row, : len(found)].tolist() == [expected[span] for span in found]
                best = sorted(expected.values(), reverse=True)[: len(found)]
                assert [expected[span] for span in found] == best

    def test_the_first_is_the_best_span(self) -> None:
        torch.manual_seed(0)
        start, end = torch.randn(2, 50, 40).unbind()
        for max_length in (None, 4):
            spans, scores = top_spans(start, end, 3, max_length)
            best, best_scores = best_span(start, end, max_length)
            assert torch.equal(spans[:, 0], best)
            assert torch.equal(scores[:, 0], best_scores)

    def test_padding_changes_nothing(self) -> None:
        torch.manual_seed(0)
        # With equal scores, too.
        start, end = torch.randn(2, 20, 9).round().unbind()
        lowest = torch.finfo(start.dtype).min
        padded = [torch.nn.functional.pad(scores, (0, 7), value=lowest) for scores in (start, end)]
        for found, expected in zip(top_spans(*padded, 6), top_spans(start, end, 6), strict=True):
            assert torch.equal(found, expected)

    def test_makes_no_square_matrix(self) -> None:
        # 200,000 tokens: a (length x length) matrix would need 160 GB.
        start, end = torch.zeros(1, 200_000), torch.zeros(1, 200_000)
        start[0, 1_000] = end[0, 150_000] = 1.0
        assert top_spans(start, end, 5)[0][0, 0].tolist() == [1_000, 150_000]
        assert top_spans(start, end, 5, max_length=3)[1].tolist() == [[1.0] * 5]


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

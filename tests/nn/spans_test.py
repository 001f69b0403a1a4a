from typing import Optional

import pytest
import torch

from bidaf_plugin.nn.spans import best_span, sliding_max


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

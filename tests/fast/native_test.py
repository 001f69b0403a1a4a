from typing import Any

import pytest
import torch

from bidaf_plugin.fast import bilstm
from bidaf_plugin.fast.native import DropoutMask
from tests.native import native_only

pytestmark = native_only


def dropped_ones(rate: float, shape: Any, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """What is left of the inputs of a layer that are all 1, as one passage."""
    inputs = bilstm._Inputs([torch.ones(1, *shape, dtype=dtype)], DropoutMask.draw(rate))
    (group,) = bilstm._divide(torch.ones(1, shape[0], dtype=torch.bool))
    return inputs.gather(group)[: shape[0]]


class TestDropoutMask:
    def setup_method(self) -> None:
        torch.manual_seed(0)

    @pytest.mark.parametrize("rate", [0.2, 0.5, 0.9])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_the_share_that_is_dropped_is_the_rate_and_the_mean_stays(
        self, rate: float, dtype: torch.dtype
    ) -> None:
        dropped = dropped_ones(rate, (300, 1000), dtype)
        assert (dropped == 0).double().mean().item() == pytest.approx(rate, abs=0.005)
        kept = dropped[dropped != 0]
        torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - rate)))

    def test_what_is_dropped_is_unlike_anywhere_else(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bilstm, "_WORDS_OF_GROUP", 1 << 40)
        first, second = ((dropped_ones(0.2, (5_000, 200)) == 0).double() - 0.2 for _ in range(2))
        first, second = first.flatten(), second.flatten()
        # Of independent numbers such a mean is 0 with a standard deviation of 0.001.
        for other in (second, first.roll(1), first.roll(200), first.roll(1 << 15)):
            assert abs((first * other).mean().item() / 0.16) < 0.005
        # Each column of a matrix is dropped as often as the others: standard deviation 0.006.
        columns = first.view(5_000, 200).mean(dim=0)
        assert columns.abs().max() < 0.03

    def test_the_seed_and_nothing_else_decides(self, kept_num_threads: None) -> None:
        results = []
        for num_threads in (1, 2, 4):
            torch.set_num_threads(num_threads)
            torch.manual_seed(5)
            results.append(dropped_ones(0.4, (700, 301)))
        assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])

    def test_without_dropout_all_is_kept(self) -> None:
        assert torch.equal(dropped_ones(0.0, (30, 7)), torch.ones(30, 7))

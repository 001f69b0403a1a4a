import pytest
import torch

from bidaf_plugin.fast.dropout import Dropout
from tests.native import native_only


class TestDropout:
    def setup_method(self) -> None:
        torch.manual_seed(0)

    @pytest.mark.parametrize("rate", [0.2, 0.5, 0.9])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_the_share_that_is_dropped_is_the_rate_and_the_mean_stays(
        self, rate: float, dtype: torch.dtype
    ) -> None:
        dropped = Dropout(rate)(torch.ones(300, 1000, dtype=dtype))
        assert (dropped == 0).double().mean().item() == pytest.approx(rate, abs=0.005)
        kept = dropped[dropped != 0]
        torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - rate)))

    def test_what_is_dropped_is_unlike_anywhere_else(self) -> None:
        dropout = Dropout(0.2)
        first, second = ((dropout(torch.ones(1_000_000)) == 0).double() - 0.2 for _ in range(2))
        # Of independent numbers such a mean is 0 with a standard deviation of 0.001.
        for other in (second, first.roll(1), first.roll(200), first.roll(1 << 15)):
            assert abs((first * other).mean().item() / 0.16) < 0.005
        # Each column of a matrix is dropped as often as the others: standard deviation 0.004.
        columns = first.view(10_000, 100).mean(dim=0)
        assert columns.abs().max() < 0.02

    @native_only
    def test_the_gradient_goes_where_the_values_went_however_often_it_is_asked_for(self) -> None:
        inputs = torch.randn(70_000, requires_grad=True)
        output = Dropout(0.3)(inputs)
        for times in (1, 2):
            output.sum().backward(retain_graph=True)
            torch.testing.assert_close(inputs.grad, times * (output / inputs).detach())

    @native_only
    def test_gradients_are_those_of_finite_differences(self) -> None:
        def drop(inputs: torch.Tensor) -> torch.Tensor:
            torch.manual_seed(1)
            return Dropout(0.5)(inputs)

        inputs = torch.randn(3, 40, dtype=torch.double).requires_grad_()
        assert torch.autograd.gradcheck(drop, inputs)

    def test_the_seed_and_nothing_else_decides(self, kept_num_threads: None) -> None:
        results = []
        for num_threads in (1, 2, 4):
            torch.set_num_threads(num_threads)
            torch.manual_seed(5)
            results.append(Dropout(0.4)(torch.ones(200_003)))
        assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])

    def test_evaluation_and_extreme_rates_are_as_in_torch(self) -> None:
        inputs = torch.randn(50)
        assert torch.equal(Dropout(0.5).eval()(inputs), inputs)
        assert torch.equal(Dropout(0.0)(inputs), inputs)
        assert not Dropout(1.0)(inputs).any()
        assert Dropout(0.5)(torch.empty(0, 3)).shape == (0, 3)
        assert Dropout(0.5)(inputs.half()).dtype == torch.float16

    def test_tensors_that_are_not_contiguous(self) -> None:
        inputs = torch.arange(1.0, 7.0).view(2, 3).t().requires_grad_()
        output = Dropout(0.5)(inputs)
        assert all(value in (0.0, 2.0) for value in (output / inputs).flatten().tolist())
        output.backward(torch.ones(3, 2))
        torch.testing.assert_close(inputs.grad, (output / inputs).detach())

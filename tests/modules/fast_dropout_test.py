import pytest
import torch

from bidaf_plugin.modules.fast_dropout import FastDropout


class TestFastDropout:
    @pytest.mark.parametrize("rate", [0.1, 0.2, 0.5])
    def test_drops_the_right_share_and_keeps_the_mean(self, rate: float) -> None:
        torch.manual_seed(0)
        dropped = FastDropout(rate)(torch.ones(1_000, 1_001))
        assert (dropped == 0).float().mean().item() == pytest.approx(rate, abs=2e-3)
        assert dropped.mean().item() == pytest.approx(1.0, abs=4e-3)
        assert dropped.max().item() == pytest.approx(1 / (1 - rate), rel=1e-4)

    def test_every_place_of_the_tensor_is_hit_alike(self) -> None:
        torch.manual_seed(0)
        dropout = FastDropout(0.5)
        shares = torch.stack([dropout(torch.ones(7, 3)) == 0 for _ in range(2_000)]).float().mean(0)
        assert (shares - 0.5).abs().max() < 0.06

    def test_gradients_pass_where_values_do(self) -> None:
        values = torch.ones(100, requires_grad=True)
        dropped = FastDropout(0.5)(values)
        dropped.sum().backward()
        torch.testing.assert_close(values.grad, dropped.detach())

    def test_does_nothing_in_evaluation_or_without_a_rate(self) -> None:
        values = torch.randn(10)
        assert torch.equal(FastDropout(0.5).eval()(values), values)
        assert torch.equal(FastDropout(0.0)(values), values)
        assert not FastDropout(1.0)(values).any()

    def test_follows_the_seed(self) -> None:
        dropout, values = FastDropout(0.5), torch.ones(50)
        torch.manual_seed(3)
        first = dropout(values)
        torch.manual_seed(3)
        assert torch.equal(dropout(values), first)

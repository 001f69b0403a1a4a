import pytest
import torch

from bidaf_plugin.nn.lstm_recurrence import run_bidirectional_lstm


class TestRunBidirectionalLstm:
    def setup_method(self) -> None:
        torch.manual_seed(0)
        # Shape: (batch_size, length, 2 * 4 * hidden_size)
        self.gate_inputs = torch.randn(3, 5, 2 * 4 * 2, dtype=torch.double)
        self.weights = torch.randn(2, 4 * 2, 2, dtype=torch.double)
        self.mask = torch.arange(5).unsqueeze(0) < torch.tensor([[5], [2], [1]])

    def test_gradients_are_those_of_finite_differences(self) -> None:
        """Not by `gradcheck`, which goes through a graph twice."""
        weighting = torch.randn(3, 5, 2 * 2, dtype=torch.double)

        def loss(gate_inputs: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
            return (run_bidirectional_lstm(gate_inputs, weights, self.mask) * weighting).sum()

        inputs = (self.gate_inputs.requires_grad_(), self.weights.requires_grad_())
        gradients = torch.autograd.grad(loss(*inputs), inputs)
        for _ in range(10):
            directions = [torch.randn_like(tensor) for tensor in inputs]
            ahead, behind = (
                loss(*(x + step * d for x, d in zip(inputs, directions, strict=True)))
                for step in (1e-5, -1e-5)
            )
            expected = sum((g * d).sum() for g, d in zip(gradients, directions, strict=True))
            torch.testing.assert_close((ahead - behind) / 2e-5, expected, rtol=1e-6, atol=1e-8)

    def test_a_graph_cannot_be_walked_twice_in_silence(self) -> None:
        output = run_bidirectional_lstm(self.gate_inputs.requires_grad_(), self.weights, self.mask)
        output.sum().backward(retain_graph=True)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            output.sum().backward()

    def test_second_derivatives_are_refused_and_not_wrong(self) -> None:
        output = run_bidirectional_lstm(self.gate_inputs.requires_grad_(), self.weights, self.mask)
        with pytest.raises(RuntimeError, match="no second derivatives"):
            torch.autograd.grad(output.sum(), [self.gate_inputs], create_graph=True)

    def test_padding_is_zero_and_gets_no_gradient(self) -> None:
        self.gate_inputs.requires_grad_()
        output = run_bidirectional_lstm(self.gate_inputs, self.weights, self.mask)
        assert not output[~self.mask].any()
        output.sum().backward()
        assert self.gate_inputs.grad is not None
        assert not self.gate_inputs.grad[~self.mask].any()
        assert self.gate_inputs.grad[self.mask].any(dim=1).all()

    def test_a_sequence_alone_is_the_sequence_in_a_batch(self) -> None:
        together = run_bidirectional_lstm(self.gate_inputs.clone(), self.weights, self.mask)
        for index, length in enumerate((5, 2, 1)):
            alone = run_bidirectional_lstm(
                self.gate_inputs[index : index + 1, :length].clone(),
                self.weights,
                self.mask[index : index + 1, :length],
            )
            torch.testing.assert_close(alone[0], together[index, :length])

    def test_values_are_the_same_with_and_without_gradients(self) -> None:
        without = run_bidirectional_lstm(self.gate_inputs.clone(), self.weights, self.mask)
        inputs = self.gate_inputs.clone().requires_grad_()
        output = run_bidirectional_lstm(inputs, self.weights, self.mask)
        torch.testing.assert_close(without, output.detach())
        # Memory is used up only where there are no gradients.
        assert torch.equal(inputs, self.gate_inputs)

"""
The recurrence of a bidirectional LSTM, apart from the product with its input, which may then be made in
whatever way is cheapest. Values and gradients are those of `torch.nn.LSTM`.
"""

from typing import Any, NamedTuple, Sequence

import torch

from bidaf_plugin.nn.first_derivatives import first_derivatives_only
from bidaf_plugin.nn.lstm_steps import run_backward, run_forward
from bidaf_plugin.nn.products import multiply_transposed


def run_bidirectional_lstm(
    gate_inputs: torch.Tensor, recurrent_weights: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """
    Both directions of a BiLSTM.

    At padding all gates are closed, so state and output are zero there: the forward direction never
    sees the padding behind it, and the backward direction comes out of it with a zero state.

    # Parameters

    gate_inputs : `torch.Tensor`
        `W_ih x + b_ih + b_hh` of the forward and of the backward direction, side by side, with gates
        in torch's order (input, forget, cell, output), where the cell gate is doubled; shape
        `(batch_size, length, 2 * 4 * hidden_size)`. Where no gradients are wanted its memory is used.
    recurrent_weights : `torch.Tensor`
        `W_hh` of both directions, likewise, shape `(2, 4 * hidden_size, hidden_size)`.
    mask : `torch.BoolTensor`
        Shape `(batch_size, length)`, padding at the end.

    # Returns

    `torch.Tensor`
        Shape `(batch_size, length, 2 * hidden_size)`, zero at padding.
    """
    is_trained = torch.is_grad_enabled() and (
        gate_inputs.requires_grad or recurrent_weights.requires_grad
    )
    return _Recurrence.apply(gate_inputs, recurrent_weights, mask, is_trained)


class RecurrentWeights(NamedTuple):
    """
    The weights of both directions, as the recurrence takes them.

    # Parameters

    input_weight : `torch.Tensor`
        `W_ih`, shape `(2 * 4 * hidden_size, input_size)`.
    bias : `torch.Tensor`
        `b_ih + b_hh`, shape `(2 * 4 * hidden_size,)`.
    recurrent_weights : `torch.Tensor`
        `W_hh`, shape `(2, 4 * hidden_size, hidden_size)`.
    """

    input_weight: torch.Tensor
    bias: torch.Tensor
    recurrent_weights: torch.Tensor


def join_directions(directions: Sequence[Sequence[torch.Tensor]]) -> RecurrentWeights:
    """
    # Parameters

    directions : `Sequence[Sequence[torch.Tensor]]`
        Of the forward and the backward direction, what `torch.nn.LSTM.all_weights` has of a layer.
    """
    input_weights, recurrent_weights, input_biases, recurrent_biases = zip(*directions, strict=True)
    hidden_size = recurrent_weights[0].size(1)
    # The cell gate, the third of four, doubled.
    # Shape: (4 * hidden_size,)
    scale = input_biases[0].new_tensor([1, 1, 2, 1]).repeat_interleave(hidden_size)
    return RecurrentWeights(
        torch.cat(input_weights) * scale.repeat(2).unsqueeze(-1),
        (torch.cat(input_biases) + torch.cat(recurrent_biases)) * scale.repeat(2),
        torch.stack(recurrent_weights) * scale.unsqueeze(-1),
    )


class _Recurrence(torch.autograd.Function):
    """What belongs to a step is laid out as (direction, step, batch, ...)."""

    @staticmethod
    def forward(
        ctx: Any,
        gate_inputs: torch.Tensor,
        recurrent_weights: torch.Tensor,
        mask: torch.Tensor,
        is_trained: bool,
    ) -> torch.Tensor:
        batch_size, length, _ = gate_inputs.size()
        hidden_size = recurrent_weights.size(2)
        # The backward pass needs every step.
        # Shape: (2, length or 0, batch_size, 4 * hidden_size)
        gates = gate_inputs.new_empty(2, length * is_trained, batch_size, 4 * hidden_size)
        # Shape: (2, length or 1, batch_size, hidden_size)
        cells = gate_inputs.new_empty(2, length if is_trained else 1, batch_size, hidden_size)
        # Shape: (batch_size, length, 2 * hidden_size)
        outputs = gate_inputs.new_empty(batch_size, length, 2 * hidden_size)
        run_forward(gate_inputs, recurrent_weights, mask, gates, cells, outputs)
        ctx.save_for_backward(gates, cells, recurrent_weights)
        return outputs

    @staticmethod
    @first_derivatives_only
    def backward(ctx: Any, grad_outputs: torch.Tensor) -> Any:  # type: ignore[override]
        gates, cells, weights = ctx.saved_tensors
        _, length, batch_size, hidden_size = cells.size()
        # Shape: (batch_size, length, 2 * 4 * hidden_size)
        grad_inputs = gates.new_empty(batch_size, length, 2 * 4 * hidden_size)
        run_backward(grad_outputs, weights, gates, cells, grad_inputs)
        # The gates have become their gradients, and the cells hidden states. Each step comes from the
        # hidden state of the step before, and the first from zero.
        # Shape: (2, 4 * hidden_size, hidden_size)
        grad_weights = torch.stack(
            [
                multiply_transposed(some_gates[1:].flatten(0, 1), some_cells[:-1].flatten(0, 1))
                for some_gates, some_cells in zip(gates, cells, strict=True)
            ]
        )
        return grad_inputs, grad_weights, None, None

"""
The recurrence of a bidirectional LSTM, apart from the product with its input, which may then be made in
whatever way is cheapest. Values and gradients are those of `torch.nn.LSTM`.
"""

from typing import Any, List, Tuple

import torch

# sigmoid(-10,000) is exactly 0: a gate that gets this is closed.
_CLOSED = -1e4


def run_bidirectional_lstm(
    gate_inputs: torch.Tensor, recurrent_weights: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """
    Both directions of a BiLSTM, in step: at each step one product serves both.

    At padding all gates are closed, so state and output are zero there: the forward direction never
    sees the padding behind it, and the backward direction comes out of it with a zero state.

    # Parameters

    gate_inputs : `torch.Tensor`
        `W_ih x + b_ih + b_hh` of the forward and of the backward direction, side by side, with gates
        in torch's order (input, forget, cell, output); shape
        `(batch_size, length, 2 * 4 * hidden_size)`.
    recurrent_weights : `torch.Tensor`
        `W_hh` of both directions, shape `(2, 4 * hidden_size, hidden_size)`.
    mask : `torch.BoolTensor`
        Shape `(batch_size, length)`, padding at the end.

    # Returns

    `torch.Tensor`
        Shape `(batch_size, length, 2 * hidden_size)`, zero at padding.
    """
    return _Recurrence.apply(gate_inputs, recurrent_weights, mask)


class _Recurrence(torch.autograd.Function):
    """
    Everything is laid out as (direction, step, batch, ...), where step 0 of the backward direction is
    the last word. The cell gate's tanh is computed as `2 sigmoid(2x) - 1`, so that one sigmoid serves
    all gates; torch's sigmoid is also several times faster than its tanh.
    """

    @staticmethod
    def forward(
        ctx: Any, gate_inputs: torch.Tensor, recurrent_weights: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        batch_size, length, _ = gate_inputs.size()
        hidden_size = recurrent_weights.size(2)
        # Shape: (2, length, batch_size, 4 * hidden_size)
        gates = _to_steps(gate_inputs, 4 * hidden_size)
        gates[..., 2 * hidden_size : 3 * hidden_size].mul_(2)
        _close_at_padding(gates, mask)
        # Shape: (2, hidden_size, 4 * hidden_size)
        weights = _double_cell_gate(recurrent_weights).transpose(1, 2).contiguous()
        # Shape: (2, length + 1, batch_size, hidden_size)
        hidden = gates.new_zeros(2, length + 1, batch_size, hidden_size)
        # Shape: (2, length + 1, batch_size, hidden_size)
        cells = torch.zeros_like(hidden)
        # Shape: (2, length, batch_size, hidden_size)
        tanh_cells = torch.empty_like(hidden[:, 1:])
        steps = zip(
            gates.unbind(1),
            *_unbind_gates(gates),
            hidden.unbind(1),
            hidden[:, 1:].unbind(1),
            cells.unbind(1),
            cells[:, 1:].unbind(1),
            tanh_cells.unbind(1),
            strict=False,
        )
        # Shape of each: (2, batch_size, hidden_size); of all_gates: (2, batch_size, 4 * hidden_size)
        for all_gates, *parts in steps:
            in_gate, forget_gate, cell_gate, out_gate = parts[:4]
            old_hidden, new_hidden, old_cell, new_cell, tanh_cell = parts[4:]
            all_gates.baddbmm_(old_hidden, weights).sigmoid_()
            # c = f * c + i * (2 sigmoid(..) - 1)
            torch.mul(forget_gate, old_cell, out=new_cell)
            new_cell.addcmul_(in_gate, cell_gate, value=2).sub_(in_gate)
            # h = o * tanh(c)
            torch.mul(new_cell, 2, out=tanh_cell)
            tanh_cell.sigmoid_().mul_(2).sub_(1)
            torch.mul(out_gate, tanh_cell, out=new_hidden)
        ctx.save_for_backward(gates, hidden, cells, tanh_cells, recurrent_weights)
        return _from_steps(hidden[:, 1:])

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:  # type: ignore[override]
        gates, hidden, cells, tanh_cells, recurrent_weights = ctx.saved_tensors
        _, length, batch_size, hidden_size = tanh_cells.size()
        # Shape: (2, length, batch_size, hidden_size)
        grad_hidden = _to_steps(grad_output, hidden_size)
        # Shape: (2, length, batch_size, 4 * hidden_size)
        grad_gates = torch.empty_like(gates)
        # Shape: (2, 4 * hidden_size, hidden_size)
        weights = _double_cell_gate(recurrent_weights)
        # Shape: (2, batch_size, hidden_size)
        grad_cell = torch.zeros_like(tanh_cells[:, 0])
        # Shape: (2, batch_size, hidden_size)
        scratch = torch.empty_like(grad_cell)
        later_grad_gates = None
        steps = zip(
            gates.unbind(1),
            grad_gates.unbind(1),
            *_unbind_gates(gates),
            *_unbind_gates(grad_gates),
            grad_hidden.unbind(1),
            cells.unbind(1),
            tanh_cells.unbind(1),
            strict=False,
        )
        # Shape of each: (2, batch_size, hidden_size); of all_*: (2, batch_size, 4 * hidden_size)
        for all_gates, all_grads, *parts in reversed(list(steps)):
            in_gate, forget_gate, cell_gate, out_gate = parts[:4]
            grad_in, grad_forget, grad_cell_gate, grad_out = parts[4:8]
            grad_h, old_cell, tanh_cell = parts[8:]
            if later_grad_gates is not None:
                grad_h.baddbmm_(later_grad_gates, weights)
            # tanh'(c) = 1 - tanh(c)^2
            torch.mul(grad_h, out_gate, out=scratch)
            grad_cell.add_(scratch)
            grad_cell.addcmul_(scratch.mul_(tanh_cell), tanh_cell, value=-1)
            # What each gate was multiplied with, times sigmoid' = s - s^2.
            torch.mul(cell_gate, 2, out=grad_in).sub_(1).mul_(grad_cell)
            torch.mul(old_cell, grad_cell, out=grad_forget)
            torch.mul(in_gate, grad_cell, out=grad_cell_gate).mul_(2)
            torch.mul(tanh_cell, grad_h, out=grad_out)
            all_grads.mul_(torch.addcmul(all_gates, all_gates, all_gates, value=-1))
            grad_cell.mul_(forget_gate)
            later_grad_gates = all_grads
        # The cell gate was computed from twice its input.
        grad_gates[..., 2 * hidden_size : 3 * hidden_size].mul_(2)
        # Shape: (2, 4 * hidden_size, hidden_size)
        grad_weights = torch.bmm(
            grad_gates.view(2, length * batch_size, 4 * hidden_size).transpose(1, 2),
            hidden[:, :length].reshape(2, length * batch_size, hidden_size),
        )
        return _from_steps(grad_gates), grad_weights, None


def _to_steps(sequences: torch.Tensor, size: int) -> torch.Tensor:
    """(batch_size, length, 2 * size) as (2, length, batch_size, size), the second half backwards."""
    batch_size, length, _ = sequences.size()
    steps = sequences.new_empty(2, length, batch_size, size)
    forward, backward = sequences.transpose(0, 1).split(size, dim=-1)
    steps[0] = forward
    steps[1] = backward.flip(0)
    return steps


def _from_steps(steps: torch.Tensor) -> torch.Tensor:
    """The inverse of `_to_steps`."""
    _, length, batch_size, size = steps.size()
    sequences = steps.new_empty(batch_size, length, 2 * size)
    sequences[..., :size] = steps[0].transpose(0, 1)
    sequences[..., size:] = steps[1].flip(0).transpose(0, 1)
    return sequences


def _close_at_padding(gates: torch.Tensor, mask: torch.Tensor) -> None:
    # Shape: (length, batch_size, 1)
    is_padding = ~mask.t().unsqueeze(-1)
    if is_padding.any():
        gates[0].masked_fill_(is_padding, _CLOSED)
        gates[1].masked_fill_(is_padding.flip(0), _CLOSED)


def _double_cell_gate(recurrent_weights: torch.Tensor) -> torch.Tensor:
    hidden_size = recurrent_weights.size(2)
    weights = recurrent_weights.clone()
    weights[:, 2 * hidden_size : 3 * hidden_size].mul_(2)
    return weights


def _unbind_gates(gates: torch.Tensor) -> List[Tuple[torch.Tensor, ...]]:
    """For each of the four gates, its values step by step."""
    return [gate.unbind(1) for gate in gates.chunk(4, dim=-1)]

"""
The recurrence of a bidirectional LSTM, apart from the product with its input, which may then be made in
whatever way is cheapest. Values and gradients are those of `torch.nn.LSTM`.
"""

from typing import Any, Iterable, List, Optional, Sequence, Tuple, Union

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
    is_trained = torch.is_grad_enabled() and (
        gate_inputs.requires_grad or recurrent_weights.requires_grad
    )
    return _Recurrence.apply(gate_inputs, recurrent_weights, mask, is_trained)


class _Recurrence(torch.autograd.Function):
    """
    What belongs to a step is laid out as (direction, batch, ...), where the first step of the backward
    direction is the last word. It is copied there and back step by step, while it is in the cache.

    The cell gate's tanh is computed as `2 sigmoid(2x) - 1`, so that one sigmoid serves all gates;
    torch's sigmoid is also several times faster than its tanh.
    """

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
        # The backward pass needs every step; otherwise each step may overwrite the one before.
        num_kept = length if is_trained else 1
        # Shape: (2, num_kept, batch_size, 4 * hidden_size)
        gates = gate_inputs.new_empty(2, num_kept, batch_size, 4 * hidden_size)
        # Shape: (2, num_kept, batch_size, hidden_size)
        cells = gate_inputs.new_empty(2, num_kept, batch_size, hidden_size)
        # Shape: (batch_size, length, 2 * hidden_size)
        output = gate_inputs.new_empty(batch_size, length, 2 * hidden_size)
        # Shape: (2, hidden_size, 4 * hidden_size)
        weights = recurrent_weights.transpose(1, 2).contiguous()
        # Shape: (2, batch_size, hidden_size)
        hidden, old_cell, tanh_cell = (
            gate_inputs.new_zeros(2, batch_size, hidden_size) for _ in range(3)
        )
        steps = zip(
            _directions(gate_inputs),
            _directions(output),
            _find_padding(mask),
            *(_repeat(tensor.unbind(1), length) for tensor in (gates, cells)),
            strict=True,
        )
        # Shape of each: (2, batch_size, hidden_size); of the gates: (2, batch_size, 4 * hidden_size)
        for inputs, outputs, is_padding, all_gates, new_cell in steps:
            in_gate, forget_gate, cell_gate, out_gate = all_gates.chunk(4, dim=-1)
            _copy(inputs, all_gates)
            all_gates.baddbmm_(hidden, weights)
            cell_gate.mul_(2)
            if is_padding is not None:
                all_gates.masked_fill_(is_padding, _CLOSED)
            all_gates.sigmoid_()
            # c = f * c + i * (2 sigmoid(..) - 1)
            torch.mul(forget_gate, old_cell, out=new_cell)
            new_cell.addcmul_(in_gate, cell_gate, value=2).sub_(in_gate)
            # h = o * tanh(c)
            _tanh(new_cell, tanh_cell)
            torch.mul(out_gate, tanh_cell, out=hidden)
            _copy(hidden, outputs)
            old_cell = new_cell
        ctx.save_for_backward(gates, cells, recurrent_weights)
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:  # type: ignore[override]
        gates, cells, weights = ctx.saved_tensors
        _, length, batch_size, hidden_size = cells.size()
        # Shape: (batch_size, length, 2 * 4 * hidden_size)
        grad_inputs = gates.new_empty(batch_size, length, 2 * 4 * hidden_size)
        # Shape: (2, batch_size, hidden_size)
        grad_cell = torch.zeros_like(cells[:, 0])
        # Shape: (2, batch_size, hidden_size)
        grad_hidden, tanh_cell, scratch = (torch.empty_like(grad_cell) for _ in range(3))
        # Shape: (2, batch_size, 4 * hidden_size)
        factors = torch.empty_like(gates[:, 0])
        # Shape of each: (2, batch_size, hidden_size)
        in_factor, forget_factor, cell_factor, out_factor = factors.chunk(4, dim=-1)
        # Shape of each: (2, batch_size, hidden_size)
        old_cells = [torch.zeros_like(grad_cell), *cells.unbind(1)[:-1]]
        later_grads = None
        steps = zip(
            _directions(grad_output),
            _directions(grad_inputs),
            old_cells,
            *(tensor.unbind(1) for tensor in (gates, cells)),
            strict=True,
        )
        # Shape of each: (2, batch_size, hidden_size); of all_gates: (2, batch_size, 4 * hidden_size)
        for grad_outputs, grads, old_cell, all_gates, new_cell in reversed(list(steps)):
            in_gate, forget_gate, cell_gate, out_gate = all_gates.chunk(4, dim=-1)
            _copy(grad_outputs, grad_hidden)
            if later_grads is not None:
                grad_hidden.baddbmm_(later_grads, weights)
            _tanh(new_cell, tanh_cell)
            # tanh'(c) = 1 - tanh(c)^2
            torch.mul(grad_hidden, out_gate, out=scratch)
            grad_cell.add_(scratch)
            grad_cell.addcmul_(scratch.mul_(tanh_cell), tanh_cell, value=-1)
            # What each gate was multiplied with, times sigmoid' = s - s^2. The cell gate is
            # 2 sigmoid(2x) - 1, and so has 4 times that.
            torch.mul(cell_gate, 2, out=in_factor).sub_(1).mul_(grad_cell)
            torch.mul(old_cell, grad_cell, out=forget_factor)
            torch.mul(in_gate, grad_cell, out=cell_factor).mul_(4)
            torch.mul(tanh_cell, grad_hidden, out=out_factor)
            grad_cell.mul_(forget_gate)
            # What is not needed any more makes room: the cell for the hidden state, and the gates for
            # their gradient.
            torch.mul(out_gate, tanh_cell, out=new_cell)
            all_gates.addcmul_(all_gates, all_gates, value=-1).mul_(factors)
            _copy(all_gates, grads)
            later_grads = all_gates
        # Each step comes from the hidden state of the step before, and the first from zero.
        hidden = cells
        # Shape: (2, 4 * hidden_size, hidden_size)
        grad_weights = torch.bmm(
            gates[:, 1:].flatten(1, 2).transpose(1, 2), hidden[:, :-1].flatten(1, 2)
        )
        return grad_inputs, grad_weights, None, None


Directions = Tuple[torch.Tensor, torch.Tensor]


def _directions(sequences: torch.Tensor) -> Iterable[Directions]:
    """For each step, what the two directions have there: `(batch_size, size)` each."""
    forward, backward = sequences.chunk(2, dim=-1)
    return zip(forward.unbind(1), reversed(backward.unbind(1)), strict=True)


def _copy(source: Union[torch.Tensor, Directions], target: Union[torch.Tensor, Directions]) -> None:
    target[0].copy_(source[0])
    target[1].copy_(source[1])


def _tanh(values: torch.Tensor, result: torch.Tensor) -> None:
    torch.mul(values, 2, out=result).sigmoid_().mul_(2).sub_(1)


def _repeat(steps: Sequence[torch.Tensor], length: int) -> Sequence[torch.Tensor]:
    return list(steps) * (length // len(steps))


def _find_padding(mask: torch.Tensor) -> List[Optional[torch.Tensor]]:
    """For each step, where it is padding: shape `(2, batch_size, 1)`; None if nowhere."""
    # Shape: (2, length, batch_size, 1)
    is_padding = torch.stack([~mask.t(), ~mask.t().flip(0)]).unsqueeze(-1)
    has_padding = is_padding.flatten(2).any(dim=2).any(dim=0).tolist()
    return [
        step if has else None for step, has in zip(is_padding.unbind(1), has_padding, strict=True)
    ]

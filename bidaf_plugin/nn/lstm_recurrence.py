"""
The recurrence of a bidirectional LSTM, apart from the product with its input, which may then be made in
whatever way is cheapest. Values and gradients are those of `torch.nn.LSTM`.
"""

from typing import Any, Iterable, List, NamedTuple, Optional, Sequence

import torch

# sigmoid(x - 10,000) is exactly 0: a gate that gets this is closed.
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
        in torch's order (input, forget, cell, output), where the cell gate is doubled; shape
        `(batch_size, length, 2 * 4 * hidden_size)`.
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
    """
    What belongs to a step is laid out as (direction, batch, ...), where the first step of the backward
    direction is the last word. It is copied there and back step by step, while it is in the cache.

    `tanh(x)` is computed as `2 sigmoid(2x) - 1`, so that one sigmoid serves all gates; torch's sigmoid
    is also several times faster than its tanh. To save the doubling of `x`, cell gates come doubled and
    cells are kept as `2c`.
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
        hidden_of_directions = hidden.unbind(0)
        steps = zip(
            _directions(gate_inputs),
            _directions(output),
            _find_closings(mask, gate_inputs.dtype),
            *(_repeat(tensor.unbind(1), length) for tensor in (gates, *gates.chunk(4, -1), cells)),
            strict=True,
        )
        # Shape of each: (2, batch_size, hidden_size); of all_gates: (2, batch_size, 4 * hidden_size)
        for inputs, outputs, closing, all_gates, in_, forget, cell_gate, out, new_cell in steps:
            _copy(inputs, all_gates.unbind(0))
            all_gates.baddbmm_(hidden, weights)
            if closing is not None:
                all_gates.add_(closing)
            all_gates.sigmoid_()
            # 2c = f * 2c + 2i * (2 sigmoid(..) - 1)
            torch.mul(forget, old_cell, out=new_cell)
            new_cell.addcmul_(in_, cell_gate, value=4).sub_(in_, alpha=2)
            # h = o * tanh(c)
            torch.sigmoid(new_cell, out=tanh_cell).mul_(2).sub_(1)
            torch.mul(out, tanh_cell, out=hidden)
            _copy(hidden_of_directions, outputs)
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
            *(tensor.unbind(1) for tensor in (gates, *gates.chunk(4, -1), cells)),
            strict=True,
        )
        # Shape of each: (2, batch_size, hidden_size); of all_gates: (2, batch_size, 4 * hidden_size).
        # `grad_cell` is that of 2c.
        for outputs, inputs, old_cell, all_gates, in_, forget, cell_gate, out, new_cell in reversed(
            list(steps)
        ):
            _copy(outputs, grad_hidden.unbind(0))
            if later_grads is not None:
                grad_hidden.baddbmm_(later_grads, weights)
            torch.sigmoid(new_cell, out=tanh_cell).mul_(2).sub_(1)
            # tanh'(c) = 1 - tanh(c)^2
            torch.mul(grad_hidden, out, out=scratch)
            grad_cell.add_(scratch, alpha=0.5)
            grad_cell.addcmul_(scratch.mul_(tanh_cell), tanh_cell, value=-0.5)
            # What each gate was multiplied with, times sigmoid' = s - s^2.
            torch.mul(cell_gate, 4, out=in_factor).sub_(2).mul_(grad_cell)
            torch.mul(old_cell, grad_cell, out=forget_factor)
            torch.mul(in_, grad_cell, out=cell_factor).mul_(4)
            torch.mul(tanh_cell, grad_hidden, out=out_factor)
            grad_cell.mul_(forget)
            # What is not needed any more makes room: the cell for the hidden state, and the gates for
            # their gradient.
            torch.mul(out, tanh_cell, out=new_cell)
            all_gates.addcmul_(all_gates, all_gates, value=-1).mul_(factors)
            _copy(all_gates.unbind(0), inputs)
            later_grads = all_gates
        # Each step comes from the hidden state of the step before, and the first from zero.
        hidden = cells
        # Shape: (2, 4 * hidden_size, hidden_size)
        grad_weights = torch.bmm(
            gates[:, 1:].flatten(1, 2).transpose(1, 2), hidden[:, :-1].flatten(1, 2)
        )
        return grad_inputs, grad_weights, None, None


Directions = Sequence[torch.Tensor]


def _directions(sequences: torch.Tensor) -> Iterable[Directions]:
    """For each step, what the two directions have there: `(batch_size, size)` each."""
    forward, backward = sequences.chunk(2, dim=-1)
    return zip(forward.unbind(1), reversed(backward.unbind(1)), strict=True)


def _copy(source: Directions, target: Directions) -> None:
    target[0].copy_(source[0])
    target[1].copy_(source[1])


def _repeat(steps: Sequence[torch.Tensor], length: int) -> Sequence[torch.Tensor]:
    return list(steps) * (length // len(steps))


def _find_closings(mask: torch.Tensor, dtype: torch.dtype) -> List[Optional[torch.Tensor]]:
    """For each step, what closes the gates at padding: shape `(2, batch_size, 1)`; None for nothing."""
    # Shape: (2, length, batch_size, 1)
    is_padding = torch.stack([~mask.t(), ~mask.t().flip(0)]).unsqueeze(-1)
    closings = is_padding.to(dtype) * _CLOSED
    has_padding = is_padding.flatten(2).any(dim=2).any(dim=0).tolist()
    return [
        step if has else None for step, has in zip(closings.unbind(1), has_padding, strict=True)
    ]

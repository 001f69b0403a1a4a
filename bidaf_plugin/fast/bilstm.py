"""
One layer of a bidirectional LSTM on the CPU: the product with its input for all words at once, then the
recurrence by `kernels.cpp`. Values and gradients are those of `torch.nn.LSTM`.
"""

from typing import Any

import torch

from bidaf_plugin.fast import native
from bidaf_plugin.fast.first_derivatives import first_derivatives_only
from bidaf_plugin.fast.products import linear, multiply, multiply_transposed


def is_built() -> bool:
    """Whether there is the native kernel."""
    return native.library() is not None


def can_run(inputs: torch.Tensor) -> bool:
    """Whether it can take such inputs: numbers of single or double precision, on the CPU."""
    return (
        inputs.device.type == "cpu"
        and inputs.dtype in (torch.float32, torch.float64)
        and inputs.numel() > 0
        and not torch.is_autocast_enabled("cpu")
        and is_built()
    )


def run_layer(
    forward_lstm: torch.nn.LSTM,
    backward_lstm: torch.nn.LSTM,
    inputs: torch.Tensor,
    mask: torch.Tensor,
) -> torch.Tensor:
    """
    # Parameters

    forward_lstm, backward_lstm : `torch.nn.LSTM`
        Of one layer, not bidirectional themselves.
    inputs : `torch.Tensor`
        Shape `(batch_size, length, input_size)`.
    mask : `torch.BoolTensor`
        Shape `(batch_size, length)`, padding at the end.

    # Returns

    `torch.Tensor`
        Shape `(batch_size, length, 2 * hidden_size)`, zero at padding.
    """
    weights = (*forward_lstm.all_weights[0], *backward_lstm.all_weights[0])
    # Shape: (batch_size,)
    lengths = mask.sum(dim=1)
    is_trained = torch.is_grad_enabled() and any(
        tensor.requires_grad for tensor in (inputs, *weights)
    )
    return _BiLstm.apply(inputs, lengths, is_trained, *weights)


def lay_out(forward_lstm: torch.nn.LSTM, backward_lstm: torch.nn.LSTM) -> None:
    """
    Puts the matrices of both directions side by side in memory, where they are one matrix and need not be
    copied into one for every question. What changes them in place leaves them there.
    """
    for name in ("weight_ih_l0", "weight_hh_l0"):
        parameters = [lstm.get_parameter(name) for lstm in (forward_lstm, backward_lstm)]
        joined = torch.cat([parameter.data for parameter in parameters])
        for parameter, rows in zip(parameters, joined.chunk(2), strict=True):
            parameter.data = rows


def _join(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """The rows of both matrices: without a copy if they are side by side."""
    storage = first.untyped_storage()
    if (
        storage.data_ptr() == second.untyped_storage().data_ptr()
        and second.storage_offset() == first.storage_offset() + first.numel()
        and first.is_contiguous()
        and second.is_contiguous()
    ):
        return first.detach().as_strided((2 * first.size(0), first.size(1)), first.stride())
    return torch.cat([first, second])


class _BiLstm(torch.autograd.Function):
    """
    The weights are those of the forward and then those of the backward direction, each `W_ih`, `W_hh`,
    `b_ih`, `b_hh` as `torch.nn.LSTM` has them, with gates in its order: input, forget, cell, output.
    """

    @staticmethod
    def forward(
        ctx: Any,
        inputs: torch.Tensor,
        lengths: torch.Tensor,
        is_trained: bool,
        *weights: torch.Tensor,
    ) -> torch.Tensor:
        batch_size, length, _ = inputs.size()
        hidden_size = weights[1].size(1)
        # Shape: (2 * 4 * hidden_size, input_size)
        input_weight = _join(weights[0], weights[4])
        # Shape: (2 * 4 * hidden_size,)
        bias = torch.cat([weights[2] + weights[3], weights[6] + weights[7]])
        # Shape: (2 * 4 * hidden_size, hidden_size)
        recurrent_weights = _join(weights[1], weights[5])
        # The kernel makes the gates of what the input contributes to them, in the same place.
        # Shape: (batch_size, length, 2 * 4 * hidden_size)
        gates = linear(inputs.contiguous(), input_weight, bias)
        # Shape: (batch_size, length, 2 * hidden_size)
        outputs = inputs.new_empty(batch_size, length, 2 * hidden_size)
        # Shape: (batch_size, length, 2 * hidden_size)
        cells = torch.empty_like(outputs) if is_trained else None
        sizes = (batch_size, length, hidden_size)
        native.call(
            "bilstm_forward",
            inputs.dtype,
            gates,
            recurrent_weights,
            lengths,
            cells,
            outputs,
            *sizes,
        )
        if is_trained:
            ctx.save_for_backward(
                inputs, lengths, gates, cells, outputs, input_weight, recurrent_weights
            )
        return outputs

    @staticmethod
    @first_derivatives_only
    def backward(ctx: Any, grad_outputs: torch.Tensor) -> Any:  # type: ignore[override]
        inputs, lengths, gates, cells, outputs, input_weight, recurrent_weights = ctx.saved_tensors
        batch_size, length, _ = inputs.size()
        hidden_size = recurrent_weights.size(1)
        # Shape: (batch_size, length, 2 * 4 * hidden_size)
        grad_gates = torch.empty_like(gates)
        native.call(
            "bilstm_backward",
            inputs.dtype,
            gates,
            recurrent_weights,
            lengths,
            cells,
            grad_outputs.contiguous(),
            grad_gates,
            batch_size,
            length,
            hidden_size,
        )
        # Shape: (batch_size * length, 2 * 4 * hidden_size)
        grad_gates = grad_gates.flatten(0, 1)
        grad_inputs = None
        if ctx.needs_input_grad[0]:
            # Shape: (batch_size, length, input_size)
            grad_inputs = multiply(grad_gates, input_weight).view_as(inputs)
        # Shape: (2 * 4 * hidden_size, input_size)
        grad_input_weight = multiply_transposed(grad_gates, inputs.flatten(0, 1))
        # Shape: (2 * 4 * hidden_size,)
        grad_bias = grad_gates.sum(dim=0)
        # Each step comes from the state of the step before, and the first from zero.
        # Shape: (batch_size, length, hidden_size) for both
        states, backward_states = torch.zeros_like(outputs).chunk(2, dim=-1)
        states[:, 1:] = outputs[:, :-1, :hidden_size]
        backward_states[:, :-1] = outputs[:, 1:, hidden_size:]
        grads = []
        for direction, before in enumerate((states, backward_states)):
            gates_of_direction = slice(
                4 * hidden_size * direction, 4 * hidden_size * (direction + 1)
            )
            # Shape: (4 * hidden_size, hidden_size)
            grad_weight = grad_gates[:, gates_of_direction].t() @ before.flatten(0, 1)
            # Each of the two biases gets a gradient of its own: optimizers change gradients in place.
            grads += [
                grad_input_weight[gates_of_direction].clone(),
                grad_weight,
                grad_bias[gates_of_direction].clone(),
                grad_bias[gates_of_direction].clone(),
            ]
        return grad_inputs, None, None, *grads

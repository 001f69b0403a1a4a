from typing import Any, Optional, Sequence, Tuple

import torch

from bidaf_plugin.nn.first_derivatives import first_derivatives_only
from bidaf_plugin.nn.products import (
    add_product,
    is_for_onednn,
    linear,
    multiply,
    multiply_transposed,
)


def project(
    vectors: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor] = None
) -> torch.Tensor:
    """
    `W x + b` for all `x`, as `torch.nn.functional.linear` has it.

    # Parameters

    vectors : `torch.Tensor`
        `x`, shape `(..., dim)`.
    weight : `torch.Tensor`
        `W`, shape `(output_dim, dim)`.
    bias : `torch.Tensor`, optional (default = `None`)
        `b`, shape `(output_dim,)`.

    # Returns

    `torch.Tensor`
        Shape `(..., output_dim)`.
    """
    if _is_plain(vectors) and is_for_onednn(vectors, weight):
        return _Projection.apply(vectors, weight, bias)
    return torch.nn.functional.linear(vectors, weight, bias)


def add_projection(
    total: torch.Tensor, vectors: torch.Tensor, weight: torch.Tensor
) -> torch.Tensor:
    """
    Adds `W x` for all words `x`.

    # Parameters

    total : `torch.Tensor`
        To which it is added in place, shape `(batch_size, passage_length, output_dim)`.
    vectors : `torch.Tensor`
        `x`, shape `(batch_size, passage_length, dim)`.
    weight : `torch.Tensor`
        `W`, shape `(output_dim, dim)`.

    # Returns

    `torch.Tensor`
        `total`.
    """
    if _is_plain(vectors):
        return _AddedProjection.apply(total, vectors, weight)
    return total + torch.nn.functional.linear(vectors, weight)


def add_scaled_projection(
    total: torch.Tensor,
    vectors: torch.Tensor,
    scales: torch.Tensor,
    plain_weight: torch.Tensor,
    scaled_weight: torch.Tensor,
) -> torch.Tensor:
    """
    Adds `W_p x + W_s (x * s)` for all words `x` of a passage and one vector `s` per passage. It is
    `(W_p + W_s diag(s)) x`: one product with a matrix of the passage's own instead of two.

    # Parameters

    total : `torch.Tensor`
        To which it is added in place, shape `(batch_size, passage_length, output_dim)`.
    vectors : `torch.Tensor`
        `x`, shape `(batch_size, passage_length, dim)`.
    scales : `torch.Tensor`
        `s`, shape `(batch_size, 1, dim)`.
    plain_weight, scaled_weight : `torch.Tensor`
        `W_p` and `W_s`, shape `(output_dim, dim)`.

    # Returns

    `torch.Tensor`
        `total`.
    """
    if _is_plain(vectors):
        return _ScaledProjection.apply(total, vectors, scales, plain_weight, scaled_weight)
    # Shape: (batch_size, output_dim, dim)
    weights = torch.addcmul(plain_weight, scaled_weight, scales)
    return total + torch.bmm(vectors, weights.transpose(1, 2))


def _is_plain(vectors: torch.Tensor) -> bool:
    """Whether it is on the CPU, and torch does not choose the precision of products."""
    return vectors.device.type == "cpu" and not torch.is_autocast_enabled("cpu")


class _Projection(torch.autograd.Function):
    """torch has no gradients of oneDNN's product."""

    @staticmethod
    def forward(
        ctx: Any, vectors: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]
    ) -> torch.Tensor:
        ctx.save_for_backward(vectors, weight)
        return linear(vectors, weight, bias)

    @staticmethod
    @first_derivatives_only
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:  # type: ignore[override]
        *needed, needs_bias = ctx.needs_input_grad
        grad_bias = grad_output.flatten(0, -2).sum(0) if needs_bias else None
        return *_gradients(grad_output, ctx.saved_tensors, needed), grad_bias


class _AddedProjection(torch.autograd.Function):
    """Autograd's own product that adds in place works on a view, and copies its whole gradient for it."""

    @staticmethod
    def forward(
        ctx: Any, total: torch.Tensor, vectors: torch.Tensor, weight: torch.Tensor
    ) -> torch.Tensor:
        ctx.save_for_backward(vectors, weight)
        ctx.mark_dirty(total)
        add_product(total.flatten(0, 1), vectors.flatten(0, 1), weight.t())
        return total

    @staticmethod
    @first_derivatives_only
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:  # type: ignore[override]
        _, *needed = ctx.needs_input_grad
        return grad_output, *_gradients(grad_output, ctx.saved_tensors, needed)


def _gradients(
    grad_output: torch.Tensor, factors: Sequence[torch.Tensor], needed: Sequence[bool]
) -> Tuple[Optional[torch.Tensor], Optional[torch.Tensor]]:
    """Those of the factors `x` and `W` that are needed, from that of `W x`."""
    vectors, weight = factors
    # Shape: (num_vectors, output_dim)
    grad_output = grad_output.flatten(0, -2)
    grad_vectors = grad_weight = None
    if needed[0]:
        # Shape: (..., dim)
        grad_vectors = multiply(grad_output, weight).view_as(vectors)
    if needed[1]:
        # Shape: (output_dim, dim)
        grad_weight = multiply_transposed(grad_output, vectors.flatten(0, -2))
    return grad_vectors, grad_weight


class _ScaledProjection(torch.autograd.Function):
    """
    The matrices of the passages, and their gradients, are made one at a time: all of them together
    would be larger than everything else, and would be read from memory again and again.
    """

    @staticmethod
    def forward(
        ctx: Any,
        total: torch.Tensor,
        vectors: torch.Tensor,
        scales: torch.Tensor,
        plain_weight: torch.Tensor,
        scaled_weight: torch.Tensor,
    ) -> torch.Tensor:
        ctx.save_for_backward(vectors, scales, plain_weight, scaled_weight)
        ctx.mark_dirty(total)
        # Shape: (output_dim, dim)
        weight = torch.empty_like(plain_weight)
        for some_total, vector, scale in zip(total, vectors, scales, strict=True):
            torch.addcmul(plain_weight, scaled_weight, scale, out=weight)
            add_product(some_total, vector, weight.t())
        return total

    @staticmethod
    @first_derivatives_only
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:  # type: ignore[override]
        vectors, scales, plain_weight, scaled_weight = ctx.saved_tensors
        grad_vectors = torch.empty_like(vectors)
        grad_scales = torch.empty_like(scales)
        grad_plain_weight = torch.zeros_like(plain_weight)
        grad_scaled_weight = torch.zeros_like(scaled_weight)
        # Shape: (output_dim, dim)
        weight = torch.empty_like(plain_weight)
        for index, (vector, scale, grad) in enumerate(
            zip(vectors, scales, grad_output, strict=True)
        ):
            torch.addcmul(plain_weight, scaled_weight, scale, out=weight)
            grad_vectors[index] = multiply(grad, weight)
            # Shape: (output_dim, dim)
            grad_weight = multiply_transposed(grad, vector)
            grad_plain_weight.add_(grad_weight)
            grad_scaled_weight.addcmul_(grad_weight, scale)
            torch.sum(grad_weight.mul_(scaled_weight), 0, keepdim=True, out=grad_scales[index])
        return grad_output, grad_vectors, grad_scales, grad_plain_weight, grad_scaled_weight

from typing import Any

import torch

# Passages whose matrices are made at once: few enough to stay in the cache.
_PASSAGES_AT_ONCE = 4


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
    if vectors.device.type == "cpu":
        return _Projection.apply(total, vectors, weight)
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
    if vectors.device.type == "cpu":
        return _ScaledProjection.apply(total, vectors, scales, plain_weight, scaled_weight)
    # Shape: (batch_size, output_dim, dim)
    weights = torch.addcmul(plain_weight, scaled_weight, scales)
    return total + torch.bmm(vectors, weights.transpose(1, 2))


class _Projection(torch.autograd.Function):
    """Autograd's own product that adds in place works on a view, and copies its whole gradient for it."""

    @staticmethod
    def forward(
        ctx: Any, total: torch.Tensor, vectors: torch.Tensor, weight: torch.Tensor
    ) -> torch.Tensor:
        ctx.save_for_backward(vectors, weight)
        ctx.mark_dirty(total)
        total.flatten(0, 1).addmm_(vectors.flatten(0, 1), weight.t())
        return total

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:  # type: ignore[override]
        vectors, weight = ctx.saved_tensors
        # Shape: (output_dim, dim)
        grad_weight = grad_output.flatten(0, 1).t() @ vectors.flatten(0, 1)
        return grad_output, grad_output @ weight, grad_weight


class _ScaledProjection(torch.autograd.Function):
    """
    The matrices of the passages, and their gradients, are made a few at a time: all of them together
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
        for some_total, some_vectors, some_scales in zip(
            *(tensor.split(_PASSAGES_AT_ONCE) for tensor in (total, vectors, scales)), strict=True
        ):
            # Shape: (_PASSAGES_AT_ONCE, output_dim, dim)
            weights = torch.addcmul(plain_weight, scaled_weight, some_scales)
            some_total.baddbmm_(some_vectors, weights.transpose(1, 2))
        return total

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:  # type: ignore[override]
        vectors, scales, plain_weight, scaled_weight = ctx.saved_tensors
        grad_vectors = torch.empty_like(vectors)
        grad_scales = torch.empty_like(scales)
        grad_plain_weight = torch.zeros_like(plain_weight)
        grad_scaled_weight = torch.zeros_like(scaled_weight)
        # Shape: (output_dim, dim)
        scratch = torch.empty_like(plain_weight)
        for index, (vector, scale, grad) in enumerate(
            zip(vectors, scales, grad_output, strict=True)
        ):
            torch.addcmul(plain_weight, scaled_weight, scale, out=scratch)
            torch.mm(grad, scratch, out=grad_vectors[index])
            # Shape: (output_dim, dim)
            torch.mm(grad.t(), vector, out=scratch)
            grad_plain_weight.add_(scratch)
            grad_scaled_weight.addcmul_(scratch, scale)
            torch.sum(scratch.mul_(scaled_weight), 0, keepdim=True, out=grad_scales[index])
        return grad_output, grad_vectors, grad_scales, grad_plain_weight, grad_scaled_weight

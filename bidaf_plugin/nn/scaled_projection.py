from typing import Any

import torch


def project_scaled(
    vectors: torch.Tensor,
    scales: torch.Tensor,
    plain_weight: torch.Tensor,
    scaled_weight: torch.Tensor,
) -> torch.Tensor:
    """
    `W_p x + W_s (x * s)` for all words `x` of a passage and one vector `s` per passage. It is
    `(W_p + W_s diag(s)) x`: one product with a matrix of the passage's own instead of two.

    # Parameters

    vectors : `torch.Tensor`
        `x`, shape `(batch_size, passage_length, dim)`.
    scales : `torch.Tensor`
        `s`, shape `(batch_size, 1, dim)`.
    plain_weight, scaled_weight : `torch.Tensor`
        `W_p` and `W_s`, shape `(output_dim, dim)`.

    # Returns

    `torch.Tensor`
        Shape `(batch_size, passage_length, output_dim)`.
    """
    if vectors.device.type == "cpu":
        return _ScaledProjection.apply(vectors, scales, plain_weight, scaled_weight)
    # Shape: (batch_size, output_dim, dim)
    weights = torch.addcmul(plain_weight, scaled_weight, scales)
    # Shape: (batch_size, passage_length, output_dim)
    return torch.bmm(vectors, weights.transpose(1, 2))


class _ScaledProjection(torch.autograd.Function):
    """
    The backward pass sums the gradient of the weights passage by passage, while each passage's own
    is still in the cache; autograd would keep one per passage in memory and read them all twice.
    """

    @staticmethod
    def forward(
        ctx: Any,
        vectors: torch.Tensor,
        scales: torch.Tensor,
        plain_weight: torch.Tensor,
        scaled_weight: torch.Tensor,
    ) -> torch.Tensor:
        ctx.save_for_backward(vectors, scales, plain_weight, scaled_weight)
        # Shape: (batch_size, output_dim, dim)
        weights = torch.addcmul(plain_weight, scaled_weight, scales)
        # Shape: (batch_size, passage_length, output_dim)
        return torch.bmm(vectors, weights.transpose(1, 2))

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
        return grad_vectors, grad_scales, grad_plain_weight, grad_scaled_weight

"""
The scores of words, `w^T dropout([part; part; ...]) + b`, without making what is in the brackets: it would be
the largest tensor of the network but one, twice, and kept for the gradient.
"""

from typing import Any, List, Sequence

import torch

from bidaf_plugin.fast import native
from bidaf_plugin.fast.dropout import Mask
from bidaf_plugin.fast.first_derivatives import first_derivatives_only


def can_score(parts: Sequence[torch.Tensor]) -> bool:
    """Whether it can take such parts: numbers of single or double precision, on the CPU."""
    return native.can_take(parts[0]) and not torch.is_autocast_enabled("cpu")


def score(scorer: torch.nn.Linear, parts: Sequence[torch.Tensor], dropout: float) -> torch.Tensor:
    """
    # Parameters

    scorer : `torch.nn.Linear`
        With one output.
    parts : `Sequence[torch.Tensor]`
        Shapes `(batch_size, length, size)`.
    dropout : `float`
        The share that is dropped.

    # Returns

    `torch.Tensor`
        Shape `(batch_size, length)`.
    """
    parts = [native.with_vectors_in_a_row(part) for part in parts]
    # Shape: (batch_size, length)
    scores = _Score.apply(Mask.draw(dropout), scorer.weight, *parts)
    return scores + scorer.bias


class _Score(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, mask: Mask, weight: torch.Tensor, *parts: torch.Tensor) -> torch.Tensor:
        ctx.mask = mask
        ctx.save_for_backward(weight, *parts)
        # Shape: (batch_size, length)
        scores = parts[0].new_zeros(parts[0].shape[:2])
        for part, part_weight, columns in _with_weights(weight, parts):
            arguments = (part, part_weight, scores, *columns, *scores.shape, *mask)
            native.call("score", scores.dtype, *arguments)
        return scores

    @staticmethod
    @first_derivatives_only
    def backward(ctx: Any, grad_scores: torch.Tensor) -> Any:  # type: ignore[override]
        weight, *parts = ctx.saved_tensors
        grad_scores = grad_scores.contiguous()
        # Shape: (1, dim)
        grad_weight = torch.empty_like(weight)
        grads = []
        for (part, part_weight, columns), part_grad_weight in zip(
            _with_weights(weight, parts), _split(grad_weight, parts), strict=True
        ):
            # Shape: (batch_size, length, size)
            grads.append(part.new_empty(part.shape))
            native.call(
                "score_backward",
                part.dtype,
                part,
                part_weight,
                grad_scores,
                grads[-1],
                part_grad_weight,
                *columns,
                *grad_scores.shape,
                *ctx.mask,
            )
        return None, grad_weight, *grads


def _split(weight: torch.Tensor, parts: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    return weight.detach().view(-1).split([part.size(-1) for part in parts])


def _with_weights(weight: torch.Tensor, parts: Sequence[torch.Tensor]) -> List[Any]:
    triples, first_column = [], 0
    for part, part_weight in zip(parts, _split(weight, parts), strict=True):
        triples.append((part, part_weight, native.columns(part, first_column)))
        first_column += part.size(-1)
    return triples

"""
The scores of words, `w^T dropout([a; b; ...]) + b`, without making what is in the brackets: it would be
the largest tensor of the network but one, twice, and kept for the gradient.
"""

from typing import Any, Sequence

import torch

from bidaf_plugin.fast import native
from bidaf_plugin.fast.native import DropoutMask, first_derivatives_only
from bidaf_plugin.fast.native import can_run as can_run


def score(scorer: torch.nn.Linear, terms: Sequence[torch.Tensor], dropout: float) -> torch.Tensor:
    """
    # Parameters

    scorer : `torch.nn.Linear`
        With one output.
    terms : `Sequence[torch.Tensor]`
        Shapes `(batch_size, length, size)`.
    dropout : `float`
        The share that is dropped.

    # Returns

    `torch.Tensor`
        Shape `(batch_size, length)`.
    """
    terms = [native.with_vectors_in_a_row(term) for term in terms]
    # Shape: (batch_size, length)
    scores = _Score.apply(DropoutMask.draw(dropout), scorer.weight, *terms)
    return scores + scorer.bias


class _Score(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, mask: DropoutMask, weight: torch.Tensor, *terms: torch.Tensor
    ) -> torch.Tensor:
        ctx.mask = mask
        ctx.save_for_backward(weight, *terms)
        # Shape: (batch_size, length)
        scores = terms[0].new_zeros(terms[0].shape[:2])
        for term, term_weight, columns in zip(
            terms, _split(weight, terms), native.columns_of_terms(terms), strict=True
        ):
            arguments = (term, term_weight, scores, *columns, *scores.shape, *mask)
            native.call("score", scores.dtype, *arguments)
        return scores

    @staticmethod
    @first_derivatives_only
    def backward(ctx: Any, grad_scores: torch.Tensor) -> Any:  # type: ignore[override]
        weight, *terms = ctx.saved_tensors
        grad_scores = grad_scores.contiguous()
        # Shape: (1, dim)
        grad_weight = torch.empty_like(weight)
        grads = [term.new_empty(term.shape) for term in terms]
        for term, term_weight, grad, term_grad_weight, columns in zip(
            terms,
            _split(weight, terms),
            grads,
            _split(grad_weight, terms),
            native.columns_of_terms(terms),
            strict=True,
        ):
            arguments = (term, term_weight, grad_scores, grad, term_grad_weight, *columns)
            native.call("score_backward", term.dtype, *arguments, *grad_scores.shape, *ctx.mask)
        return None, grad_weight, *grads


def _split(weight: torch.Tensor, terms: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """The weights for each term."""
    return weight.detach().view(-1).split([term.size(-1) for term in terms])

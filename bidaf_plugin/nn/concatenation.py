"""
Concatenations `[a; b; ...]` of the vectors of words that need not be made. `G` is one of four terms, and the
largest tensor of the network. So what makes it may return the list of its terms, and what reads it may do so
term by term, which saves the copy.
"""

from typing import List, Sequence, Union

import torch

# Vectors of words, or the terms that they are the concatenation of. Their shapes are
# `(batch_size, length, size)`, or `(batch_size, 1, size)` for a term that all words have in common.
Terms = Union[torch.Tensor, Sequence[torch.Tensor]]


def mix(weights: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    """
    `weights @ vectors`, and says so on the result, `mixture_of`: a layer that multiplies it by a matrix may
    multiply the few vectors instead.

    # Parameters

    weights : `torch.Tensor`
        Shape `(batch_size, length, num_vectors)`.
    vectors : `torch.Tensor`
        Shape `(batch_size, num_vectors, size)`.

    # Returns

    `torch.Tensor`
        Shape `(batch_size, length, size)`.
    """
    mixed = weights @ vectors
    mixed.mixture_of = weights, vectors  # type: ignore[attr-defined]
    return mixed


def take(vectors: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """`vectors[indices]`, and says so on the result, `taken_from`, for the same reason."""
    taken = vectors[indices]
    taken.taken_from = vectors, indices  # type: ignore[attr-defined]
    return taken


def as_terms(vectors: Terms) -> List[torch.Tensor]:
    """A tensor is a concatenation of one term."""
    return [vectors] if isinstance(vectors, torch.Tensor) else list(vectors)


def concatenate(vectors: Terms) -> torch.Tensor:
    """`[a; b; ...]`, shape `(batch_size, length, sum of all sizes)`."""
    if isinstance(vectors, torch.Tensor):
        return vectors
    length = max(term.size(1) for term in vectors)
    return torch.cat([term.expand(-1, length, -1) for term in vectors], dim=-1)

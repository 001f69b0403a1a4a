from typing import Optional

import torch

from bidaf_plugin.nn.passage_vectors import PassageVectors
from bidaf_plugin.nn.projections import add_scaled_projection


class SummarizedVectors(PassageVectors):
    """
    `[m; a; m * a]`, where `a` is one vector per passage. With `W = [W1, W2, W3]` its projection is
    `(W1 + W3 diag(a)) m + W2 a`, of which the second term is the same for all words.

    # Parameters

    modeled_passage : `torch.Tensor`
        `m`, shape `(batch_size, passage_length, modeled_dim)`.
    summary : `torch.Tensor`
        `a`, shape `(batch_size, 1, modeled_dim)`.
    """

    def __init__(self, modeled_passage: torch.Tensor, summary: torch.Tensor) -> None:
        self._modeled_passage = modeled_passage
        self._summary = summary

    def whole(self) -> torch.Tensor:
        # Shape: (batch_size, passage_length, 3 * modeled_dim)
        return torch.cat(
            [
                self._modeled_passage,
                self._summary.expand_as(self._modeled_passage),
                self._modeled_passage * self._summary,
            ],
            dim=-1,
        )

    def project(self, weight: torch.Tensor, bias: Optional[torch.Tensor] = None) -> torch.Tensor:
        batch_size, passage_length, _ = self._modeled_passage.size()
        # Shape: (batch_size, passage_length, output_dim)
        total = weight.new_zeros(batch_size, passage_length, weight.size(0))
        return self.add_projection(total if bias is None else total + bias, weight)

    def add_projection(self, total: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        # Shape of each: (output_dim, modeled_dim)
        passage_weight, summary_weight, scaled_weight = weight.chunk(3, dim=1)
        # Shape: (batch_size, passage_length, output_dim)
        total = total.add_(torch.nn.functional.linear(self._summary, summary_weight))
        return add_scaled_projection(
            total, self._modeled_passage, self._summary, passage_weight, scaled_weight
        )

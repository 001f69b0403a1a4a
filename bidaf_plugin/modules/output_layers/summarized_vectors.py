from typing import Optional

import torch

from bidaf_plugin.nn.passage_vectors import PassageVectors
from bidaf_plugin.nn.scaled_projection import project_scaled


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
        # Shape of each: (output_dim, modeled_dim)
        passage_weight, summary_weight, scaled_weight = weight.chunk(3, dim=1)
        # Shape: (batch_size, 1, output_dim)
        projected_summary = torch.nn.functional.linear(self._summary, summary_weight, bias)
        # Shape: (batch_size, passage_length, output_dim)
        projected = project_scaled(
            self._modeled_passage, self._summary, passage_weight, scaled_weight
        )
        return projected.add_(projected_summary)

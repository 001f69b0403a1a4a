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
    dropped_summary : `torch.Tensor`, optional (default = `summary`)
        The `a` that stands alone.
    """

    def __init__(
        self,
        modeled_passage: torch.Tensor,
        summary: torch.Tensor,
        dropped_summary: Optional[torch.Tensor] = None,
    ) -> None:
        self._modeled_passage = modeled_passage
        self._summary = summary
        self._lone_summary = summary if dropped_summary is None else dropped_summary

    def whole(self) -> torch.Tensor:
        # Shape: (batch_size, passage_length, 3 * modeled_dim)
        return torch.cat(
            [
                self._modeled_passage,
                self._lone_summary.expand_as(self._modeled_passage),
                self._modeled_passage * self._summary,
            ],
            dim=-1,
        )

    def project(self, weight: torch.Tensor, bias: Optional[torch.Tensor] = None) -> torch.Tensor:
        # Shape of each: (output_dim, modeled_dim)
        passage_weight, summary_weight, scaled_weight = weight.chunk(3, dim=1)
        # Shape: (batch_size, 1, output_dim)
        projected_summary = torch.nn.functional.linear(self._lone_summary, summary_weight, bias)
        # Shape: (batch_size, passage_length, output_dim)
        return projected_summary + project_scaled(
            self._modeled_passage, self._summary, passage_weight, scaled_weight
        )

    def drop(self, dropout: torch.nn.Module) -> PassageVectors:
        return SummarizedVectors(
            dropout(self._modeled_passage), self._summary, dropout(self._summary)
        )

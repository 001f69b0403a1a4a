from typing import List, Optional

import torch

from bidaf_plugin.nn.passage_vectors import PassageVectors
from bidaf_plugin.nn.projections import add_projection, add_scaled_projection, project


class FusedVectors(PassageVectors):
    """
    `[h; u~; h * u~; h * h~]`, the query-aware passage. With `W = [W1, W2, W3, W4]` its projection is
    `(W1 + W4 diag(h~)) h + sum_j a_j (W2 u_j) + W3 (h * u~)`: `h~` is one vector per passage, and
    there are far fewer question words `u_j` than passage words.

    # Parameters

    encoded_passage : `torch.Tensor`
        `h`, shape `(batch_size, passage_length, encoding_dim)`.
    encoded_question : `torch.Tensor`
        `u`, shape `(batch_size, question_length, encoding_dim)`.
    attention : `torch.Tensor`
        `a`, shape `(batch_size, passage_length, question_length)`.
    attended_passage : `torch.Tensor`, optional
        `h~`, shape `(batch_size, 1, encoding_dim)`. Without it the vectors are `[h; u~; h * u~]`.
    product : `torch.Tensor`, optional
        `h * u~`, shape `(batch_size, passage_length, encoding_dim)`, if it is known.
    """

    def __init__(
        self,
        encoded_passage: torch.Tensor,
        encoded_question: torch.Tensor,
        attention: torch.Tensor,
        attended_passage: Optional[torch.Tensor],
        product: Optional[torch.Tensor] = None,
    ) -> None:
        self._encoded_passage = encoded_passage
        self._encoded_question = encoded_question
        self._attention = attention
        self._attended_passage = attended_passage
        if product is None:
            # Shape: (batch_size, passage_length, encoding_dim)
            product = encoded_passage * (attention @ encoded_question)
        self._product = product
        self._whole: Optional[torch.Tensor] = None

    def whole(self) -> torch.Tensor:
        # Where it is wanted at all, the modelling layer wants it and so does the output layer.
        if self._whole is None:
            self._whole = self._join()
        return self._whole

    def _join(self) -> torch.Tensor:
        # Shape: (batch_size, passage_length, encoding_dim)
        attended_question = self._attention @ self._encoded_question
        terms: List[torch.Tensor] = [self._encoded_passage, attended_question, self._product]
        if self._attended_passage is not None:
            terms.append(self._encoded_passage * self._attended_passage)
        # Shape: (batch_size, passage_length, 4 * encoding_dim)
        return torch.cat(terms, dim=-1)

    def project(self, weight: torch.Tensor, bias: Optional[torch.Tensor] = None) -> torch.Tensor:
        # Shape of each: (output_dim, encoding_dim)
        passage_weight, question_weight, product_weight, *scaled_weight = weight.split(
            self._encoded_passage.size(-1), dim=1
        )
        # Shape: (batch_size, question_length, output_dim)
        projected_question = project(self._encoded_question, question_weight)
        # Shape: (batch_size, passage_length, output_dim)
        projected = (
            torch.bmm(self._attention, projected_question)
            if bias is None
            else torch.baddbmm(bias, self._attention, projected_question)
        )
        projected = add_projection(projected, self._product, product_weight)
        if self._attended_passage is None:
            return add_projection(projected, self._encoded_passage, passage_weight)
        return add_scaled_projection(
            projected,
            self._encoded_passage,
            self._attended_passage,
            passage_weight,
            scaled_weight[0],
        )

    def drop(self, dropout: torch.nn.Module) -> PassageVectors:
        return FusedVectors(
            dropout(self._encoded_passage),
            dropout(self._encoded_question),
            self._attention,
            self._attended_passage,
            dropout(self._product),
        )

"""
The function `beta` of Eq. 2 of [Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603).
"""

from typing import List, Optional

import torch
from allennlp.common import Registrable
from overrides import overrides

from bidaf_plugin.nn.concatenation import Terms, concatenate


class Fusion(torch.nn.Module, Registrable):
    """
    It fuses, for each context word `t`, the contextual vector `h`, the attended query vector `u~` and the
    attended context vector `h~` into the query-aware vector `G_t = beta(h, u~, h~)`.
    """

    default_implementation = "concat"

    def uses_attended_passage(self) -> bool:
        """Whether `h~` is among what is fused: False for the ablation of Q2C attention."""
        raise NotImplementedError

    def get_input_dim(self) -> int:
        """`2d`, the size of each of the three inputs."""
        raise NotImplementedError

    def get_output_dim(self) -> int:
        """`d_G`, the size of a query-aware vector."""
        raise NotImplementedError

    def forward(
        self,
        encoded_passage: torch.Tensor,
        attended_question: torch.Tensor,
        attended_passage: Optional[torch.Tensor],
    ) -> Terms:
        """
        # Parameters

        encoded_passage : `torch.Tensor`
            `H`, shape `(batch_size, passage_length, encoding_dim)`.
        attended_question : `torch.Tensor`
            `u~`, shape `(batch_size, passage_length, encoding_dim)`.
        attended_passage : `torch.Tensor`
            `h~`, shape `(batch_size, 1, encoding_dim)`: the same vector for all context words. None
            if it is not used.

        # Returns

        `torch.Tensor`
            `G`, shape `(batch_size, passage_length, output_dim)`. If it is a concatenation, the list of its
            terms will do, and saves a copy.
        """
        raise NotImplementedError


@Fusion.register("concat")
class ConcatFusion(Fusion):
    """
    `beta(h, u~, h~) = [h; u~; h * u~; h * h~]`, of size `8d`: the fusion of the paper's model. Its
    ablation without query-to-context attention is `[h; u~; h * u~]`, of size `6d`.

    Registered as a `Fusion` with name "concat", the default.

    # Parameters

    encoding_dim : `int`
        `2d`, the size of `h`, of `u~` and of `h~`.
    query_to_context : `bool`, optional (default = `True`)
        False leaves out the terms with `h~`: the paper's ablation "No Q2C attention".
    """

    def __init__(self, encoding_dim: int, query_to_context: bool = True) -> None:
        super().__init__()
        self._encoding_dim = encoding_dim
        self._query_to_context = query_to_context

    @overrides
    def uses_attended_passage(self) -> bool:
        return self._query_to_context

    @overrides
    def get_input_dim(self) -> int:
        return self._encoding_dim

    @overrides
    def get_output_dim(self) -> int:
        return (4 if self._query_to_context else 3) * self._encoding_dim

    @overrides
    def forward(
        self,
        encoded_passage: torch.Tensor,
        attended_question: torch.Tensor,
        attended_passage: Optional[torch.Tensor],
    ) -> List[torch.Tensor]:
        terms = [encoded_passage, attended_question, encoded_passage * attended_question]
        if attended_passage is not None:
            terms.append(encoded_passage * attended_passage)
        return terms


@Fusion.register("mlp")
class MlpFusion(ConcatFusion):
    """
    `beta(h, u~, h~) = max(0, W [h; u~; h * u~; h * h~] + b)`, of size `2d`: "MLP after concat" of the
    paper's appendix.

    Registered as a `Fusion` with name "mlp".

    # Parameters

    encoding_dim : `int`
        `2d`, the size of `h`, of `u~`, of `h~` and of the output.
    query_to_context : `bool`, optional (default = `True`)
        See `ConcatFusion`.
    """

    def __init__(self, encoding_dim: int, query_to_context: bool = True) -> None:
        super().__init__(encoding_dim, query_to_context)
        self._linear = torch.nn.Linear(super().get_output_dim(), encoding_dim)

    @overrides
    def get_output_dim(self) -> int:
        return self._encoding_dim

    @overrides(check_signature=False)
    def forward(  # type: ignore[override]
        self,
        encoded_passage: torch.Tensor,
        attended_question: torch.Tensor,
        attended_passage: Optional[torch.Tensor],
    ) -> torch.Tensor:
        terms = super().forward(encoded_passage, attended_question, attended_passage)
        # Shape: (batch_size, passage_length, encoding_dim)
        return torch.relu(self._linear(concatenate(terms)))

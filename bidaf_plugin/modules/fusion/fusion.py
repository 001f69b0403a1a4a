from typing import List, Optional

import torch
from allennlp.common import Registrable


class Fusion(torch.nn.Module, Registrable):
    """
    The function `beta` of Eq. 2 of
    [Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603): it fuses, for each context word
    `t`, the contextual vector `h`, the attended query vector `u~` and the attended context vector
    `h~` into the query-aware vector `G_t = beta(h, u~, h~)`.
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
    ) -> torch.Tensor:
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
            `G`, shape `(batch_size, passage_length, output_dim)`.
        """
        raise NotImplementedError

    def parts(
        self,
        encoded_passage: torch.Tensor,
        attended_question: torch.Tensor,
        attended_passage: Optional[torch.Tensor],
    ) -> List[torch.Tensor]:
        """
        What `G` is the concatenation of. A fusion that is one can give its parts, which saves the layers
        after it a copy; any other need not care.
        """
        return [self(encoded_passage, attended_question, attended_passage)]

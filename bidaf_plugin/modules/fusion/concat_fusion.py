from typing import List, Optional

import torch
from overrides import overrides

from bidaf_plugin.modules.fusion.fusion import Fusion


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
    ) -> torch.Tensor:
        parts = self.parts(encoded_passage, attended_question, attended_passage)
        # Shape: (batch_size, passage_length, 4 * encoding_dim)
        return torch.cat(parts, dim=-1)

    @overrides
    def parts(
        self,
        encoded_passage: torch.Tensor,
        attended_question: torch.Tensor,
        attended_passage: Optional[torch.Tensor],
    ) -> List[torch.Tensor]:
        parts = [encoded_passage, attended_question, encoded_passage * attended_question]
        if attended_passage is not None:
            parts.append(encoded_passage * attended_passage)
        return parts

from typing import Optional

import torch
from overrides import overrides

from bidaf_plugin.modules.fusion.concat_fusion import ConcatFusion
from bidaf_plugin.modules.fusion.fusion import Fusion


@Fusion.register("mlp")
class MlpFusion(Fusion):
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
        super().__init__()
        self._concat = ConcatFusion(encoding_dim, query_to_context)
        self._linear = torch.nn.Linear(self._concat.get_output_dim(), encoding_dim)

    @overrides
    def uses_attended_passage(self) -> bool:
        return self._concat.uses_attended_passage()

    @overrides
    def get_input_dim(self) -> int:
        return self._concat.get_input_dim()

    @overrides
    def get_output_dim(self) -> int:
        return self._concat.get_input_dim()

    @overrides
    def forward(
        self,
        encoded_passage: torch.Tensor,
        attended_question: torch.Tensor,
        attended_passage: Optional[torch.Tensor],
    ) -> torch.Tensor:
        # Shape: (batch_size, passage_length, 4 * encoding_dim)
        concatenated = self._concat(encoded_passage, attended_question, attended_passage)
        # Shape: (batch_size, passage_length, encoding_dim)
        return torch.relu(self._linear(concatenated))

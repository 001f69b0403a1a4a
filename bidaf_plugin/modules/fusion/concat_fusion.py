import torch
from overrides import overrides

from bidaf_plugin.modules.fusion.fusion import Fusion


@Fusion.register("concat")
class ConcatFusion(Fusion):
    """
    `beta(h, u~, h~) = [h; u~; h * u~; h * h~]`, of size `8d`: the fusion of the paper's model.

    Registered as a `Fusion` with name "concat", the default.

    # Parameters

    encoding_dim : `int`
        `2d`, the size of `h`, of `u~` and of `h~`.
    """

    def __init__(self, encoding_dim: int) -> None:
        super().__init__()
        self._encoding_dim = encoding_dim

    @overrides
    def get_input_dim(self) -> int:
        return self._encoding_dim

    @overrides
    def get_output_dim(self) -> int:
        return 4 * self._encoding_dim

    @overrides
    def forward(
        self,
        encoded_passage: torch.Tensor,
        attended_question: torch.Tensor,
        attended_passage: torch.Tensor,
    ) -> torch.Tensor:
        # Shape: (batch_size, passage_length, 4 * encoding_dim)
        return torch.cat(
            [
                encoded_passage,
                attended_question,
                encoded_passage * attended_question,
                encoded_passage * attended_passage,
            ],
            dim=-1,
        )

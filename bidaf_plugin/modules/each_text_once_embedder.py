from typing import Any, Dict

import torch
from allennlp.modules.token_embedders import TokenEmbedder
from overrides import overrides


@TokenEmbedder.register("each_text_once")
class EachTextOnceEmbedder(TokenEmbedder):
    """
    Gives what another embedder gives, which reads texts that a batch has several times only once: several
    questions are about the same passage (`group_passages` of the sampler `bidaf_bucket` puts them into one
    batch). For embedders that look at the context of a word and take long, such as AllenNLP's
    `pretrained_transformer_mismatched`. What is not trained of it has no dropout either.

    Registered as a `TokenEmbedder` with name "each_text_once".

    # Parameters

    embedder : `TokenEmbedder`
    """

    def __init__(self, embedder: TokenEmbedder) -> None:
        super().__init__()
        self._embedder = embedder

    @overrides
    def get_output_dim(self) -> int:
        return self._embedder.get_output_dim()

    @overrides(check_signature=False)
    def train(self, mode: bool = True) -> "EachTextOnceEmbedder":
        super().train(mode)
        _rest(self._embedder)
        return self

    @overrides(check_signature=False)
    def forward(self, **tensors: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """
        # Parameters

        tensors : `torch.Tensor`
            What the embedder takes, by name, each with the texts as its first dimension.

        # Returns

        `torch.Tensor`
            Shape `(batch_size, num_tokens, output_dim)`.
        """
        # Shape: (batch_size, numbers of a text)
        rows = torch.cat([tensor.flatten(1).long() for tensor in tensors.values()], dim=1)
        # Shape: (num_distinct, numbers of a text) and (batch_size,)
        distinct, kinds = rows.unique(dim=0, return_inverse=True)
        # The last text of each kind. Shape: (num_distinct,)
        texts = torch.zeros(len(distinct), dtype=torch.long, device=rows.device)
        texts[kinds] = torch.arange(len(rows), device=rows.device)
        own: Dict[str, Any] = {name: tensor[texts] for name, tensor in tensors.items()}
        # Shape: (batch_size, num_tokens, output_dim)
        return self._embedder(**own)[kinds]


def _rest(module: torch.nn.Module) -> None:
    """Puts the parts of a module that are not trained into the mode of evaluation."""
    parameters = list(module.parameters())
    if parameters and not any(parameter.requires_grad for parameter in parameters):
        module.eval()
        return
    for child in module.children():
        _rest(child)

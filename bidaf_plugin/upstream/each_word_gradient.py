from typing import Any, List, Tuple

import torch
from allennlp.interpret.saliency_interpreters import SaliencyInterpreter, SimpleGradient
from overrides import overrides

from bidaf_plugin.upstream.registration import register_instead


@register_instead(SaliencyInterpreter, "simple-gradient")
class EachWordGradient(SimpleGradient):
    """
    AllenNLP's `SimpleGradient` as it was meant: the saliency of a word is the gradient at the word
    times the vector of the word ([Feng et al., 2018](https://arxiv.org/abs/1804.07781)). AllenNLP's own
    loses the dimension of the batch, and so takes the vector of the first word for all of them.

    Registered as a `SaliencyInterpreter` with name "simple-gradient", in place of AllenNLP's.
    """

    @overrides(check_signature=False)
    def _register_hooks(
        self, embeddings_list: List[torch.Tensor], token_offsets: List[torch.Tensor]
    ) -> List[Any]:
        def keep_output(module: torch.nn.Module, inputs: Tuple, output: torch.Tensor) -> None:
            # Shape: (1, num_tokens, embedding_dim)
            embeddings_list.append(output.detach().clone())

        handles = super()._register_hooks([], token_offsets)
        embedding_layer = self.predictor.get_interpretable_layer()
        return [*handles, embedding_layer.register_forward_hook(keep_output)]

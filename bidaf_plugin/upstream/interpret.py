"""
Repairs of AllenNLP's interpretation of models, `allennlp.interpret`.
"""

from typing import Any, List, Tuple

import torch
from allennlp.data import TextFieldTensors, Token
from allennlp.data.fields import TextField
from allennlp.interpret.attackers import Attacker, Hotflip
from allennlp.interpret.saliency_interpreters import SaliencyInterpreter, SimpleGradient
from allennlp.nn import util
from overrides import overrides

from bidaf_plugin.upstream.small_fixes import register_instead


@register_instead(Attacker, "hotflip")
class AnyIndexerHotflip(Hotflip):
    """
    AllenNLP's `Hotflip` ([Ebrahimi et al., 2018](https://arxiv.org/abs/1712.06751)), which exchanges
    words of a text until the prediction changes, for every kind of token indexer: AllenNLP's own knows
    three, and none of this plugin's.

        Attacker.by_name("hotflip")(predictor).attack_from_json(
            {"question": ..., "passage": ...}, "question", "grad_input_2"
        )

    `grad_input_2` are the gradients of the question, `grad_input_1` those of the passage.

    Registered as an `Attacker` with name "hotflip", in place of AllenNLP's.
    """

    @overrides(check_signature=False)
    def _make_embedder_input(self, all_tokens: List[str]) -> TextFieldTensors:
        indexers: Any = self.predictor._dataset_reader._token_indexers  # type: ignore[attr-defined]
        field = TextField([Token(word) for word in all_tokens], indexers)
        field.index(self.vocab)
        tensors = field.as_tensor(field.get_padding_lengths())
        return util.move_to_device(field.batch_tensors([tensors]), self.cuda_device)


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

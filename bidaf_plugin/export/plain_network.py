"""
The network of a predictor as torch's exporter to ONNX takes it: a module from arrays of whole numbers to logits.
"""

from copy import deepcopy
from typing import Any, Dict, List, Sequence, Tuple, Type

import numpy
import torch
from allennlp.data import Batch, Instance, TextFieldTensors, TokenIndexer
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.modules.seq2seq_encoders import (
    ComposeEncoder,
    LstmSeq2SeqEncoder,
    PytorchSeq2SeqWrapper,
    Seq2SeqEncoder,
)
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.modules.token_embedders import Embedding, TokenCharactersEncoder, TokenEmbedder

from bidaf_plugin.analysis.attention import kept_attention
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.token_indexers import (
    WordCharactersIndexer,
    WordFormsIndexer,
    WordIdIndexer,
)
from bidaf_plugin.models import AttentionFlow
from bidaf_plugin.modules.output_layers import SpanOutputLayer
from bidaf_plugin.modules.seq2seq_encoders import SelfAttentionEncoder, UnpackedLstmEncoder
from bidaf_plugin.modules.token_embedders import FixedAndTrainedEmbedder
from bidaf_plugin.nn.exact_match import mark_matches
from bidaf_plugin.runtime.session import Arrays

SIDES = ("question", "passage")
# What a token indexer gives, in the names of the inputs.
_KINDS: Dict[Type[TokenIndexer], str] = {
    WordIdIndexer: "words",
    SingleIdTokenIndexer: "words",
    WordCharactersIndexer: "characters",
    WordFormsIndexer: "matches",
}
_EMBEDDERS: Tuple[Type[TokenEmbedder], ...] = (
    FixedAndTrainedEmbedder,
    Embedding,
    TokenCharactersEncoder,
)
# AllenNLP's LSTMs pack sequences, and dynamic attention goes from word to word: what is traced of these would
# hold for texts of one length.
_ENCODERS = (UnpackedLstmEncoder, SelfAttentionEncoder, ComposeEncoder)


def check_type(thing: Any, types: Sequence[type], place: str) -> None:
    """What is not known exactly (not even a derived class) may compute anything."""
    if type(thing) not in types:
        names = ", ".join(known.__name__ for known in types)
        raise DataError(
            f"{place} is of class {type(thing).__name__}, which cannot be exported; what can is {names}"
        )


class PlainNetwork(torch.nn.Module):
    """
    # Parameters

    model : `AttentionFlow`
        It is not changed.
    indexers : `Dict[str, TokenIndexer]`
        Those of the reader.
    with_attention : `bool`
        Whether what the passage attends to is among the outputs.

    # Attributes

    kind_of_indexer : `Dict[str, str]`
        What `find_kinds` gives.
    input_names, output_names : `List[str]`
    """

    def __init__(
        self, model: AttentionFlow, indexers: Dict[str, TokenIndexer], with_attention: bool
    ) -> None:
        super().__init__()
        check_type(model, (AttentionFlow,), "the model")
        check_type(model._output_layer, (SpanOutputLayer,), "output_layer")
        self.kind_of_indexer = find_kinds(model, indexers)
        self._output_name_of_indexer = {
            key: next(iter(indexers[key].get_empty_token_list())) for key in self.kind_of_indexer
        }
        self._model = _plain_copy(model)
        kinds = [*self.kind_of_indexer.values(), "lengths"]
        self.input_names = [f"{side}_{kind}" for side in SIDES for kind in kinds]
        # By the names of the model.
        self._outputs = {"start_logits": "span_start_logits", "end_logits": "span_end_logits"}
        if model._output_layer.no_answer:
            self._outputs["no_answer_logits"] = "no_answer_logits"
        self._attention: List[str] = []
        if with_attention:
            self._attention = ["passage_question_attention"]
            if model._attention is not None and model._attention._fusion.uses_attended_passage():
                self._attention.append("question_passage_attention")
        self.output_names = [*self._outputs, *self._attention]

    def forward(self, *inputs: torch.Tensor) -> Tuple[torch.Tensor, ...]:
        tensors = dict(zip(self.input_names, inputs, strict=True))
        question, passage = (self._text(side, tensors) for side in SIDES)
        with kept_attention(self._model) as kept:
            output_dict = self._model(question, passage, metadata=[])
        outputs = [output_dict[name] for name in self._outputs.values()]
        return (*outputs, *(getattr(kept[0], name) for name in self._attention))

    def _text(self, side: str, tensors: Dict[str, torch.Tensor]) -> TextFieldTensors:
        # Shape: (batch_size,)
        lengths = tensors[f"{side}_lengths"]
        text = {}
        for key, kind in self.kind_of_indexer.items():
            # Shape: (batch_size, length) or (batch_size, length, word_length)
            indices = tensors[f"{side}_{kind}"]
            # Shape: (batch_size, length)
            is_word = torch.arange(indices.size(1)) < lengths.unsqueeze(1)
            # The model takes for padding what is 0.
            is_index = is_word if indices.dim() == 2 else is_word.unsqueeze(2)
            text[key] = {self._output_name_of_indexer[key]: indices * is_index}
        return text


def find_kinds(model: AttentionFlow, indexers: Dict[str, TokenIndexer]) -> Dict[str, str]:
    """`words`, `characters` or `matches` for the key of each indexer whose indices a model uses."""
    embedder = model._text_field_embedder
    check_type(embedder, (BasicTextFieldEmbedder,), "text_field_embedder")
    kinds: Dict[str, str] = {}
    for key in embedder._ordered_embedder_keys:
        place = f"token_embedders.{key}"
        check_type(getattr(embedder, f"token_embedder_{key}"), _EMBEDDERS, place)
        if key not in indexers:
            raise DataError(f"{place} has no token indexer of this name")
        check_type(indexers[key], list(_KINDS), f"token_indexers.{key}")
        kind = _KINDS[type(indexers[key])]
        if kind in kinds.values():
            raise DataError(f"{place} is a second one for {kind}, which cannot be exported")
        kinds[key] = kind
    return kinds


def make_arrays(instances: Sequence[Instance], kind_of_indexer: Dict[str, str]) -> Arrays:
    """
    The inputs of a network.

    # Parameters

    instances : `Sequence[Instance]`
        Their indices have been looked up.
    kind_of_indexer : `Dict[str, str]`
        What `find_kinds` gives.
    """
    tensors = Batch(instances).as_tensor_dict()
    texts = mark_matches(tensors["question"], tensors["passage"])
    arrays: Arrays = {}
    for side, text in zip(SIDES, texts, strict=True):
        for key, kind in kind_of_indexer.items():
            (indices,) = text[key].values()
            arrays[f"{side}_{kind}"] = indices.numpy()
        lengths = [len(instance[side]) for instance in instances]
        arrays[f"{side}_lengths"] = numpy.array(lengths, dtype=numpy.int64)
    return arrays


def _plain_copy(model: AttentionFlow) -> AttentionFlow:
    """A copy with the same values, of parts that the exporter has operators for."""
    copy = deepcopy(model).eval()
    copy._output_layer.temperature = 1.0
    for name, module in list(copy.named_modules()):
        if isinstance(module, FixedAndTrainedEmbedder):
            # One table in the order of the vocabulary.
            words = torch.arange(model.vocab.get_vocab_size(module.vocab_namespace))
            with torch.no_grad():
                table = module(words.unsqueeze(0)).squeeze(0)
            copy.set_submodule(name, torch.nn.Embedding.from_pretrained(table))
        elif isinstance(module, PytorchSeq2SeqWrapper):
            copy.set_submodule(name, _to_unpacked(module, name))
        elif isinstance(module, Seq2SeqEncoder):
            check_type(module, _ENCODERS, name.lstrip("_"))
    for module in copy.modules():
        if isinstance(module, ComposeEncoder):
            # It also has a list of its own of these.
            module.encoders = list(module.children())
    return copy


def _to_unpacked(encoder: PytorchSeq2SeqWrapper, name: str) -> UnpackedLstmEncoder:
    place = name.lstrip("_")
    check_type(encoder, (*_ENCODERS, LstmSeq2SeqEncoder, PytorchSeq2SeqWrapper), place)
    lstm = encoder._module
    check_type(lstm, (torch.nn.LSTM,), place)
    if not lstm.bidirectional or not lstm.bias or lstm.proj_size or encoder.stateful:
        raise DataError(
            f"{place} is an LSTM of one direction, without biases, with a projection or with a state that "
            "it keeps, which cannot be exported"
        )
    unpacked = UnpackedLstmEncoder(lstm.input_size, lstm.hidden_size, lstm.num_layers)
    unpacked.load_state_dict(encoder.state_dict())
    return unpacked.eval()

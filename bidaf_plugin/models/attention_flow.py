from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Optional

import torch
from allennlp.common.checks import ConfigurationError, check_dimensions_match
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules import Highway, Seq2SeqEncoder, TextFieldEmbedder
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.modules.token_embedders import Embedding, TokenCharactersEncoder
from allennlp.nn import InitializerApplicator, util
from overrides import overrides

from bidaf_plugin.modules.bi_attention import BiAttention
from bidaf_plugin.modules.dropped_inputs import concatenate, encode_dropped
from bidaf_plugin.modules.output_layers import OutputLayer
from bidaf_plugin.modules.seq2seq_encoders import QuestionAwareEncoder
from bidaf_plugin.modules.token_embedders import FixedAndTrainedEmbedder
from bidaf_plugin.nn.encoded_text import EncodedText
from bidaf_plugin.nn.entities import separate_windows
from bidaf_plugin.nn.exact_match import mark_matches

try:
    from bidaf_plugin.fast import distinct_words
except ImportError:  # What is fast can be left out: every word is then embedded where it stands.
    distinct_words = None  # type: ignore[assignment]


@Model.register("attention_flow")
class AttentionFlow(Model):
    """
    [Bidirectional Attention Flow for Machine Comprehension](https://arxiv.org/abs/1611.01603)
    (Seo et al., ICLR 2017), by composition of its six layers:

    1. character embedding and 2. word embedding, both in `text_field_embedder`, followed by a highway
       network: `X` and `Q`;
    3. contextual embedding: `H` for the context and `U` for the query;
    4. attention flow: the query-aware context `G`;
    5. modelling: `M`;
    6. output.

    Registered as a `Model` with name "attention_flow".

    # Parameters

    vocab : `Vocabulary`
    text_field_embedder : `TextFieldEmbedder`
        Shared by question and passage.
    contextual_layer : `Seq2SeqEncoder`
        Shared by question and passage.
    modeling_layer : `Seq2SeqEncoder`
        One that looks at the question itself (`dynamic_attention`) takes the place of `attention`.
    output_layer : `OutputLayer`
    attention : `BiAttention`, optional (default = `None`)
        Without it `G` is `H`: for a modelling layer that looks at the question itself.
    num_highway_layers : `int`, optional (default = `2`)
        0 for no highway network.
    dropout : `float`, optional (default = `0.2`)
        On what the contextual and the modelling layer read. (The other dropouts of the paper belong to
        the character CNN, to the layers of a stacked LSTM and to the output layer.)
    initializer : `InitializerApplicator`, optional
    """

    default_predictor = "bidaf"
    # The loss is of the whole batch, so AllenNLP cannot split it among the instances; no need to say so.
    _warn_for_unseparable_batches = {"loss"}

    def __init__(
        self,
        vocab: Vocabulary,
        text_field_embedder: TextFieldEmbedder,
        contextual_layer: Seq2SeqEncoder,
        modeling_layer: Seq2SeqEncoder,
        output_layer: OutputLayer,
        attention: Optional[BiAttention] = None,
        num_highway_layers: int = 2,
        dropout: float = 0.2,
        initializer: InitializerApplicator = InitializerApplicator(),  # noqa: B008
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, **kwargs)
        self._text_field_embedder = text_field_embedder
        self._highway = Highway(text_field_embedder.get_output_dim(), num_highway_layers)
        self._contextual_layer = contextual_layer
        self._attention = attention
        self._modeling_layer = modeling_layer
        self._output_layer = output_layer
        self._dropout = torch.nn.Dropout(dropout)
        self._embeds_distinct_words = distinct_words is not None and _embeds_words_alone(
            text_field_embedder
        )
        self._keeps_words_apart = False
        # For torch's `DistributedDataParallel`, which would send all buffers to all processes before each
        # step. These never change, and every process makes the same from vocabulary and file.
        self._ddp_params_and_buffers_to_ignore = _fixed_vectors(self)
        self._check_dimensions()
        initializer(self)

    def _check_dimensions(self) -> None:
        # The sizes of the layers must fit each other, which is easily missed in a config file.
        embedding_dim = self._text_field_embedder.get_output_dim()
        encoding_dim = self._contextual_layer.get_output_dim()
        _check("text_field_embedder", embedding_dim, "contextual_layer", self._contextual_layer)
        if isinstance(self._modeling_layer, QuestionAwareEncoder) == (self._attention is not None):
            raise ConfigurationError(
                "the question must be read exactly once: give the model either an attention layer, or a "
                "modeling_layer that looks at the question itself (dynamic_attention)"
            )
        if self._attention is None:
            source, query_aware_dim = "contextual_layer", encoding_dim
        else:
            _check("contextual_layer", encoding_dim, "attention", self._attention)
            source, query_aware_dim = "attention", self._attention.get_output_dim()
        _check(source, query_aware_dim, "modeling_layer", self._modeling_layer)
        check_dimensions_match(
            query_aware_dim,
            self._output_layer.get_query_aware_dim(),
            f"output of {source}",
            "query_aware_dim of output_layer",
        )
        check_dimensions_match(
            self._modeling_layer.get_output_dim(),
            self._output_layer.get_modeled_dim(),
            "output of modeling_layer",
            "modeled_dim of output_layer",
        )

    def forward(  # type: ignore[override]
        self,
        question: TextFieldTensors,
        passage: TextFieldTensors,
        metadata: List[Dict[str, Any]],
        **targets: torch.Tensor,
    ) -> Dict[str, Any]:
        """
        # Parameters

        question : `TextFieldTensors`
        passage : `TextFieldTensors`
        metadata : `List[Dict[str, Any]]`
            What the reader knows of each instance: texts, tokens, id, gold answers.
        targets : `torch.Tensor`
            The gold answer in the terms of the output layer, if it is known.

        # Returns

        `Dict[str, Any]`
            What the output layer returns, and `metadata`.
        """
        question, passage = mark_matches(question, passage)
        windows = {}
        if self._output_layer.reads_windows:
            passage, windows["windows"] = separate_windows(passage)
        # Shape: (batch_size, length) and (batch_size, length, encoding_dim) for either text
        (question_mask, _, encoded_question), (passage_mask, _, encoded_passage) = self.encode(
            question, passage
        )
        if windows:
            # From here on the batch is one of windows, each with its question.
            encoded_question = encoded_question[windows["windows"].example_of_window]
            question_mask = question_mask[windows["windows"].example_of_window]
        if self._attention is not None:
            # Shape: (batch_size, passage_length, size) each, query_aware_dim together
            query_aware_parts = self._attention(
                encoded_passage, passage_mask, encoded_question, question_mask
            ).query_aware_parts
            # Shape: (batch_size, passage_length, modeled_dim)
            modeled_passage = encode_dropped(
                self._modeling_layer, self._dropout, query_aware_parts, passage_mask
            )
        else:
            query_aware_parts = [encoded_passage]
            # Shape: (batch_size, passage_length, modeled_dim)
            modeled_passage = self._modeling_layer(
                encoded_passage, passage_mask, encoded_question, question_mask
            )
        output_dict = self._output_layer(
            query_aware_parts if self._output_layer.reads_parts else concatenate(query_aware_parts),
            modeled_passage,
            passage_mask,
            **windows,
            **targets,
        )
        if targets:
            self._output_layer.update_metrics(output_dict, metadata, **targets)
        output_dict["metadata"] = metadata
        return output_dict

    def encode(self, *texts: TextFieldTensors) -> List[EncodedText]:
        """The first three layers, of each of some texts."""
        if self._embeds_distinct_words:
            encoded_texts = distinct_words.encode_distinct(
                texts, self._embed, self._contextualize, has_dropout=self.training
            )
            if encoded_texts is not None:
                return encoded_texts
        return [self._encode_text(text) for text in texts]

    def _encode_text(self, text: TextFieldTensors) -> EncodedText:
        mask = util.get_text_field_mask(text)
        # Shape: (batch_size, num_tokens, embedding_dim)
        embedded = self._embed(_as_one_text(text) if self._keeps_words_apart else text)
        embedded = embedded.view(*mask.shape, -1)
        return EncodedText(mask, embedded, self._contextualize(embedded, mask))

    def _embed(self, text: TextFieldTensors) -> torch.Tensor:
        return self._highway(self._text_field_embedder(text))

    def _contextualize(self, embedded: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return encode_dropped(self._contextual_layer, self._dropout, [embedded], mask)

    @contextmanager
    def words_apart(self) -> Iterator[None]:
        """
        While it lasts, a word that a text has twice is embedded twice, at its own positions, and the
        windows of a text are embedded as one, so that the gradients of the text field embedder's output
        are by position. For embedders that do not look at the context of a word.
        """
        embeds_distinct_words, self._embeds_distinct_words = self._embeds_distinct_words, False
        self._keeps_words_apart = True
        try:
            yield
        finally:
            self._embeds_distinct_words = embeds_distinct_words
            self._keeps_words_apart = False

    @overrides
    def _get_prediction_device(self) -> int:
        # AllenNLP looks at all parameters, for every question.
        return util.get_device_of(next(self.parameters()))

    @overrides
    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        return self._output_layer.get_metrics(reset)

    @overrides(check_signature=False)
    def make_output_human_readable(self, output_dict: Dict[str, Any]) -> Dict[str, Any]:
        readable = self._output_layer.make_output_human_readable(
            output_dict, output_dict["metadata"]
        )
        if "loss" in output_dict:
            readable["loss"] = output_dict["loss"]
        return readable


def _embeds_words_alone(text_field_embedder: TextFieldEmbedder) -> bool:
    """Whether the vector of a word is the same wherever the word stands."""
    context_free = (Embedding, FixedAndTrainedEmbedder, TokenCharactersEncoder)
    return isinstance(text_field_embedder, BasicTextFieldEmbedder) and all(
        isinstance(getattr(text_field_embedder, f"token_embedder_{key}"), context_free)
        for key in text_field_embedder._ordered_embedder_keys
    )


def _fixed_vectors(model: Model) -> List[str]:
    """The names of the buffers with the word vectors that are not trained."""
    return [
        f"{name}.{buffer_name}"
        for name, module in model.named_modules()
        if isinstance(module, FixedAndTrainedEmbedder)
        for buffer_name, _ in module.named_buffers()
    ]


def _as_one_text(text: TextFieldTensors) -> TextFieldTensors:
    """All texts of a batch one after the other, shape `(1, batch_size * num_tokens)`."""
    return {
        indexer: {name: tensor.flatten(0, 1).unsqueeze(0) for name, tensor in tensors.items()}
        for indexer, tensors in text.items()
    }


def _check(producer: str, produced_dim: int, consumer: str, layer: Any) -> None:
    check_dimensions_match(
        produced_dim, layer.get_input_dim(), f"output of {producer}", f"input of {consumer}"
    )

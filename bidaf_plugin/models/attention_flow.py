from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, NamedTuple, Optional

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
from bidaf_plugin.modules.dropped_inputs import encode_dropped
from bidaf_plugin.modules.output_layers import OutputLayer
from bidaf_plugin.modules.seq2seq_encoders import QuestionAwareEncoder
from bidaf_plugin.modules.token_embedders import FixedAndTrainedEmbedder
from bidaf_plugin.nn.concatenation import Terms, concatenate, take
from bidaf_plugin.nn.entities import separate_windows
from bidaf_plugin.nn.exact_match import mark_matches

try:
    from bidaf_plugin.fast import distinct_words
except (
    ImportError
):  # What is fast can be left out: every word is then embedded at each of its positions.
    distinct_words = None  # type: ignore[assignment]


class EmbeddedText(NamedTuple):
    """
    A batch of texts after the first two layers.

    vectors : `torch.Tensor`
        `X` or `Q`, shape `(batch_size, num_tokens, embedding_dim)`.
    mask : `torch.BoolTensor`
        Shape `(batch_size, num_tokens)`.
    words : `torch.LongTensor`, optional
        Shape `(batch_size, num_tokens)`: the same number for the same word. None if it is not known which
        words are the same.
    """

    vectors: torch.Tensor
    mask: torch.Tensor
    words: Optional[torch.Tensor] = None


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
        """The sizes of the layers must fit each other, which is easily missed in a config file."""
        if isinstance(self._modeling_layer, QuestionAwareEncoder) == (self._attention is not None):
            raise ConfigurationError(
                "the question must be read exactly once: give the model either an attention layer, or a "
                "modeling_layer that looks at the question itself (dynamic_attention)"
            )
        layer_before, size = "text_field_embedder", self._text_field_embedder.get_output_dim()
        for name in ("contextual_layer", "attention", "modeling_layer"):
            layer = getattr(self, f"_{name}")
            if layer is None:
                continue
            check_dimensions_match(
                size, layer.get_input_dim(), f"output of {layer_before}", f"input of {name}"
            )
            if name == "modeling_layer":
                check_dimensions_match(
                    size,
                    self._output_layer.get_query_aware_dim(),
                    f"output of {layer_before}",
                    "query_aware_dim of output_layer",
                )
            layer_before, size = name, layer.get_output_dim()
        check_dimensions_match(
            size,
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

        # 1. Character embedding and 2. word embedding: `Q` and `X`.
        embedded_question, embedded_passage = self.embed(question, passage)
        question_mask, passage_mask = embedded_question.mask, embedded_passage.mask

        # 3. Contextual embedding: `U` and `H`.
        # Shape: (batch_size, length of the text, encoding_dim) for both
        encoded_question = self.contextualize(embedded_question)
        encoded_passage = self.contextualize(embedded_passage)
        if windows:
            # From here on the batch is one of windows, each with its question.
            example_of_window = windows["windows"].example_of_window
            encoded_question = encoded_question[example_of_window]
            question_mask = question_mask[example_of_window]
        texts = (encoded_passage, passage_mask, encoded_question, question_mask)

        # 4. Attention flow: `G`, shape `(batch_size, passage_length, query_aware_dim)`, or its terms.
        query_aware_passage: Terms = encoded_passage
        if self._attention is not None:
            query_aware_passage = self._attention(*texts).query_aware_terms

        # 5. Modelling: `M`, shape `(batch_size, passage_length, modeled_dim)`.
        if self._attention is not None:
            modeled_passage = encode_dropped(
                self._modeling_layer, self._dropout, query_aware_passage, passage_mask
            )
        else:
            modeled_passage = self._modeling_layer(*texts)

        # 6. Output.
        if not self._output_layer.reads_terms:
            query_aware_passage = concatenate(query_aware_passage)
        output_dict = self._output_layer(
            query_aware_passage, modeled_passage, passage_mask, **windows, **targets
        )
        if targets:
            self._output_layer.update_metrics(output_dict, metadata, **targets)
        output_dict["metadata"] = metadata
        return output_dict

    def embed(self, *texts: TextFieldTensors) -> List[EmbeddedText]:
        """The first two layers, of each of some texts."""
        masks = [util.get_text_field_mask(text) for text in texts]
        if self._embeds_distinct_words and not self._keeps_words_apart:
            embedded = distinct_words.embed_once(texts, self._embed_words, is_apart=self.training)
            if embedded is not None:
                return [
                    EmbeddedText(vectors, mask, words)
                    for mask, (vectors, words) in zip(masks, embedded, strict=True)
                ]
        if self._keeps_words_apart:
            texts = tuple(map(_as_one_text, texts))
        return [
            EmbeddedText(self._embed_words(text).view(*mask.shape, -1), mask)
            for mask, text in zip(masks, texts, strict=True)
        ]

    def _embed_words(self, text: TextFieldTensors) -> torch.Tensor:
        return self._highway(self._text_field_embedder(text))

    def contextualize(self, text: EmbeddedText) -> torch.Tensor:
        """
        The third layer. In evaluation, texts of a batch that are the same are read once: several questions
        have the same passage.

        # Returns

        `torch.Tensor`
            `H` or `U`, shape `(batch_size, num_tokens, encoding_dim)`.
        """
        layer, dropout = self._contextual_layer, self._dropout
        if text.words is None or self.training or len(text.words) == 1:
            return encode_dropped(layer, dropout, text.vectors, text.mask)
        # Shape: (number of different texts,) and (batch_size,)
        rows, row_of_text = distinct_words.find_distinct_rows(text.words)
        # Shape: (number of different texts, num_tokens, encoding_dim)
        distinct = encode_dropped(layer, dropout, text.vectors[rows], text.mask[rows])
        # Shape: (batch_size, num_tokens, encoding_dim)
        return take(distinct, row_of_text)

    @contextmanager
    def words_apart(self) -> Iterator[None]:
        """
        While it lasts, a word that a text has twice is embedded twice, at its own positions, and the
        windows of a text are embedded as one, so that the gradients of the text field embedder's output
        are by position. For embedders that do not look at the context of a word.
        """
        self._keeps_words_apart = True
        try:
            yield
        finally:
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
    """Whether the vector of a word does not depend on the words around it."""
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

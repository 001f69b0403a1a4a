"""The whole network, with the parameters of a model of the plugin."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Optional

import numpy
from numpy.typing import NDArray

from tests.numpy_bidaf.layers import (
    Array,
    BilstmParameters,
    LstmParameters,
    Similarity,
    bilinear_similarity,
    character_cnn,
    concat_fusion,
    context_to_query,
    dot_product_similarity,
    end_layer_input,
    highway_layer,
    linear_after_mlp_similarity,
    linear_similarity,
    mlp_fusion,
    modeling_layer,
    no_context_to_query,
    position_probabilities,
    query_to_context,
    similarity_matrix,
    trilinear_similarity,
)
from tests.numpy_bidaf.variants import (
    BidirectionalDynamicAttentionParameters,
    DynamicAttentionParameters,
    SelfAttentionParameters,
    dynamic_attention,
    self_attention,
    take_in,
)


class Text(NamedTuple):
    """
    A context or a query.

    word_ids : `Sequence[int]`
        One per word.
    character_ids : `Sequence[Sequence[int]]`
        Those of the characters of each word; a row is as long as its word.
    """

    word_ids: Sequence[int]
    character_ids: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Choices:
    """
    What the paper varies, and what goes beyond it.

    use_character_embedding, use_word_embedding : `bool`
        False for the ablations of these embeddings.
    num_highway_layers : `int`
    attention : `str`
        "static" (the paper's model), or "dynamic": inside the modelling layer. The choices from
        `similarity` to `use_self_attention` are those of static attention.
    similarity : `str`
        `alpha`: "trilinear" (the paper's model), "dot_product", "linear", "bilinear" or
        "linear_after_mlp".
    fusion : `str`
        `beta`: "concat" (the paper's model) or "mlp".
    use_context_to_query, use_query_to_context : `bool`
        False for the ablations of these attentions.
    num_hops : `int`
        How often the passage attends to the question.
    use_self_attention : `bool`
        Whether the passage attends to itself before the modelling layer.
    end_input : `str`
        "authors_code" or "paper_text": see `end_layer_input`.
    no_answer : `bool`
        Whether that there is no answer is one more outcome.
    """

    use_character_embedding: bool = True
    use_word_embedding: bool = True
    num_highway_layers: int = 2
    attention: str = "static"
    similarity: str = "trilinear"
    fusion: str = "concat"
    use_context_to_query: bool = True
    use_query_to_context: bool = True
    num_hops: int = 1
    use_self_attention: bool = False
    end_input: str = "authors_code"
    no_answer: bool = False


class NumpyBidaf:
    """
    The whole network with the parameters of a model of the plugin.

    # Parameters

    state : `Mapping[str, NDArray]`
        The model's `state_dict()` as NumPy arrays. LSTM layers may be those of `unpacked_lstm` or
        those of AllenNLP's `lstm`.
    choices : `Choices`
    """

    def __init__(self, state: Mapping[str, NDArray], choices: Optional[Choices] = None) -> None:
        self._choices = choices or Choices()
        if self._choices.attention not in ("static", "dynamic"):
            raise ValueError(f"unknown attention {self._choices.attention!r}")
        # The places of the word vectors are whole numbers, and stay so.
        rows = state.get("_text_field_embedder.token_embedder_tokens.rows", numpy.array([]))
        self._word_rows: Sequence[int] = rows.tolist()
        self._state: dict[str, Array] = {
            name: value.astype(numpy.float64) for name, value in state.items()
        }

    def run(self, context: Text, query: Text) -> dict[str, Array]:
        """
        # Returns

        `dict[str, Array]`
            `H`, `U`, `G`, `M`, `p1` and `p2` of the paper, the last two with a last element for no
            answer if this is an outcome; with static attention also `S`, `a` and,
            unless it is ablated, `b`, all of the last hop.
        """
        flow = self._flow(context, query)
        start_no_answer, end_no_answer = None, None
        if self._choices.no_answer:
            start_no_answer, end_no_answer = self._state["_output_layer._no_answer_logits"].tolist()
        flow["p1"] = position_probabilities(
            flow["G"],
            flow["M"],
            *self._read_scorer("_output_layer._start_scorer"),
            start_no_answer,
        )
        end_input = end_layer_input(flow["G"], flow["M"], flow["p1"], self._choices.end_input)
        end_modeled = modeling_layer(
            end_input, self._read_bilstm_layers("_output_layer._end_encoder")
        )
        flow["p2"] = position_probabilities(
            flow["G"],
            end_modeled,
            *self._read_scorer("_output_layer._end_scorer"),
            end_no_answer,
        )
        return flow

    def score_words(self, context: Text, query: Text) -> Array:
        """
        `w^T [g_t; m_t]` of each word, before any softmax: what the output layer of the cloze test has
        for a window. Shape `(T,)`.
        """
        flow = self._flow(context, query)
        weight, bias = self._read_scorer("_output_layer._scorer")
        return numpy.array(
            [
                weight @ numpy.concatenate([g, m]) + bias
                for g, m in zip(flow["G"], flow["M"], strict=True)
            ]
        )

    def _flow(self, context: Text, query: Text) -> dict[str, Array]:
        """The first five layers."""
        flow = {"H": self._encode(context), "U": self._encode(query)}
        if self._choices.attention == "dynamic":
            # There is no attention layer. The output layer reads `H` in place of its output.
            flow["G"] = flow["H"]
            flow["M"] = dynamic_attention(flow["H"], flow["U"], self._read_dynamic_attention())
        else:
            flow.update(self._attend_in_hops(flow["H"], flow["U"]))
            flow["M"] = self._model(flow["G"])
        return flow

    # ---- Layers 1 to 3 ----

    def _encode(self, text: Text) -> Array:
        """
        The first three layers, shared by context and query: `H` or `U`. "The concatenation of the
        character and word embedding vectors is passed to a two-layer Highway Network", and its output
        to the BiLSTM.
        """
        words = []
        for word_id, character_ids in zip(text.word_ids, text.character_ids, strict=True):
            vectors = []
            if self._choices.use_character_embedding:
                vectors.append(self._character_vector(character_ids))
            if self._choices.use_word_embedding:
                vectors.append(self._word_vector(word_id))
            word = numpy.concatenate(vectors)
            for layer in range(self._choices.num_highway_layers):
                word = highway_layer(word, *self._read_linear(f"_highway._layers.{layer}"))
            words.append(word)
        return modeling_layer(numpy.array(words), self._read_bilstm_layers("_contextual_layer"))

    def _character_vector(self, character_ids: Sequence[int]) -> Array:
        prefix = "_text_field_embedder.token_embedder_token_characters."
        table = self._state[prefix + "_embedding._module.weight"]
        return character_cnn(
            numpy.array([table[character_id] for character_id in character_ids]),
            *self._read_linear(prefix + "_encoder._module._convolution"),
        )

    def _word_vector(self, word_id: int) -> Array:
        """Row `r >= 0` of the fixed vectors (GloVe's), or row `-1 - r` of the trained ones."""
        row = self._word_rows[word_id]
        prefix = "_text_field_embedder.token_embedder_tokens."
        if row >= 0:
            return self._state[prefix + "fixed"][row]
        return self._state[prefix + "trained"][-1 - row]

    # ---- Layers 4 and 5 ----

    def _attend_in_hops(self, context: Array, query: Array) -> dict[str, Array]:
        """`S`, `a`, `b` and `G` of the last hop. All hops share `alpha` and `beta`."""
        flow = self._attend(context, query)
        for hop in range(self._choices.num_hops - 1):
            context = take_in(context, flow["G"], *self._read_linear(f"_attention._hops.{hop}"))
            flow = self._attend(context, query)
        return flow

    def _attend(self, context: Array, query: Array) -> dict[str, Array]:
        """`S`, `a`, `b` and `G` of one hop."""
        flow = {"S": similarity_matrix(context, query, self._make_similarity())}
        if self._choices.use_context_to_query:
            flow["a"], attended_query = context_to_query(flow["S"], query)
        else:
            flow["a"], attended_query = no_context_to_query(len(context), query)
        attended_context = None
        if self._choices.use_query_to_context:
            flow["b"], attended_context = query_to_context(flow["S"], context)
        flow["G"] = numpy.array(
            [
                self._fuse(context[t], attended_query[t], attended_context)
                for t in range(len(context))
            ]
        )
        return flow

    def _make_similarity(self) -> Similarity:
        """`alpha` with its parameters."""
        name = self._choices.similarity
        prefix = "_attention._similarity."
        if name == "dot_product":
            return dot_product_similarity
        if name == "linear_after_mlp":
            context_weight, hidden_bias = self._read_linear(prefix + "_matrix_1_projection")
            query_weight = self._state[prefix + "_matrix_2_projection.weight"]
            hidden_weight = numpy.concatenate([context_weight, query_weight], axis=1)
            vector = self._state[prefix + "_weight_vector"]
            return lambda h, u: linear_after_mlp_similarity(
                h, u, hidden_weight, hidden_bias, vector
            )
        function, weight_name = {
            "trilinear": (trilinear_similarity, "_weight_vector"),
            "linear": (linear_similarity, "_weight_vector"),
            "bilinear": (bilinear_similarity, "_weight_matrix"),
        }[name]
        weight, bias = self._state[prefix + weight_name], self._state[prefix + "_bias"].item()
        return lambda h, u: function(h, u, weight, bias)

    def _fuse(self, h: Array, attended_query: Array, attended_context: Optional[Array]) -> Array:
        """`beta` with its parameters."""
        if self._choices.fusion == "concat":
            return concat_fusion(h, attended_query, attended_context)
        if self._choices.fusion != "mlp":
            raise ValueError(f"unknown fusion {self._choices.fusion!r}")
        return mlp_fusion(
            h, attended_query, attended_context, *self._read_linear("_attention._fusion._linear")
        )

    def _model(self, query_aware: Array) -> Array:
        """`M` of `G`."""
        prefix = "_modeling_layer"
        if self._choices.use_self_attention:
            query_aware = self_attention(query_aware, self._read_self_attention())
            prefix = "_modeling_layer.encoder1"
        return modeling_layer(query_aware, self._read_bilstm_layers(prefix))

    # ---- Parameters ----

    def _read_linear(self, prefix: str) -> tuple[Array, Array]:
        """Weight and bias."""
        return self._state[prefix + ".weight"], self._state[prefix + ".bias"]

    def _read_scorer(self, prefix: str) -> tuple[Array, float]:
        """`w` as a vector, and the bias."""
        (weight,), bias = self._read_linear(prefix)
        return weight, bias.item()

    def _read_self_attention(self) -> SelfAttentionParameters:
        prefix = "_modeling_layer.encoder0."
        return SelfAttentionParameters(
            *self._read_linear(prefix + "_reduction"),
            self._state[prefix + "_similarity._weight_vector"],
            self._state[prefix + "_similarity._bias"].item(),
            *self._read_linear(prefix + "_expansion"),
        )

    def _read_dynamic_attention(self) -> list[BidirectionalDynamicAttentionParameters]:
        """The layers, from the first one that reads `H`."""
        layers: list[BidirectionalDynamicAttentionParameters] = []
        while f"_modeling_layer._forward_layers.{len(layers)}._scorer.weight" in self._state:
            forward, backward = (
                self._read_dynamic_attention_lstm(f"_modeling_layer.{direction}.{len(layers)}.")
                for direction in ("_forward_layers", "_backward_layers")
            )
            layers.append(BidirectionalDynamicAttentionParameters(forward, backward))
        if not layers:
            raise KeyError("no dynamic attention in _modeling_layer")
        return layers

    def _read_dynamic_attention_lstm(self, prefix: str) -> DynamicAttentionParameters:
        # W = [W_x W_cs W_u]
        input_weight, bias = self._read_linear(prefix + "_input_projection")
        state_weight = self._state[prefix + "_state_projection.weight"]
        query_weight = self._state[prefix + "_question_projection.weight"]
        (vector,) = self._state[prefix + "_scorer.weight"]
        return DynamicAttentionParameters(
            numpy.concatenate([input_weight, state_weight, query_weight], axis=1),
            bias,
            vector,
            self._read_lstm(prefix + "_cell.", ""),
        )

    def _read_bilstm_layers(self, prefix: str) -> list[BilstmParameters]:
        """The layers of a stacked BiLSTM, from the first one that reads the input."""
        layers: list[BilstmParameters] = []
        while True:
            number = len(layers)
            if f"{prefix}._forward_lstms.{number}.weight_ih_l0" in self._state:
                forward = self._read_lstm(f"{prefix}._forward_lstms.{number}.", "_l0")
                backward = self._read_lstm(f"{prefix}._backward_lstms.{number}.", "_l0")
            elif f"{prefix}._module.weight_ih_l{number}" in self._state:
                forward = self._read_lstm(f"{prefix}._module.", f"_l{number}")
                backward = self._read_lstm(f"{prefix}._module.", f"_l{number}_reverse")
            elif layers:
                return layers
            else:
                raise KeyError(f"no LSTM under {prefix}")
            layers.append(BilstmParameters(forward, backward))

    def _read_lstm(self, prefix: str, suffix: str) -> LstmParameters:
        return LstmParameters(
            *(
                self._state[f"{prefix}{name}{suffix}"]
                for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            )
        )

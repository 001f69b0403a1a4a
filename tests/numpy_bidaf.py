"""
The equations of "Bi-Directional Attention Flow for Machine Comprehension" (Seo et al., ICLR 2017) in
plain NumPy, written from the paper to check the plugin against it. Everything is done for one example
at a time, word by word, in double precision: there are no batches, no padding and no masks.

The matrices of the paper hold a word in each column; here it is a row, so that the paper's `H_:t` is
`H[t]`. Where the paper leaves a detail open (what a convolution sees beyond the end of a word, the
biases, what the end layer reads) the docstring says what is done.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Optional

import numpy
from numpy.typing import NDArray

Array = NDArray[numpy.float64]
Similarity = Callable[[Array, Array], float]


# ---- Elementary functions ----


def sigmoid(x: Array) -> Array:
    """`1 / (1 + exp(-x))`"""
    return 1.0 / (1.0 + numpy.exp(-x))


def relu(x: Array) -> Array:
    """`max(0, x)`"""
    return numpy.maximum(0.0, x)


def softmax(x: Array) -> Array:
    """`softmax(x)_i = exp(x_i) / sum_j exp(x_j)` of a vector."""
    # The largest is subtracted from all, which cancels out, so that no exponential overflows.
    exponentials = numpy.exp(x - x.max())
    return exponentials / exponentials.sum()


# ---- 1. Character embedding layer ----


def character_cnn(characters: Array, weight: Array, bias: Array) -> Array:
    """
    `max_i ReLU(sum_o W_o c_{i+o} + b)`: "the outputs of the CNN are max-pooled over the entire
    width". A window `i` starts at every character of the word; what it sees beyond the last
    character is zero.

    # Parameters

    characters : `Array`
        `c`, the vectors of the characters of one word, shape `(word_length, character_dim)`.
    weight : `Array`
        `W`, shape `(num_filters, character_dim, width)`.
    bias : `Array`
        `b`, shape `(num_filters,)`.

    # Returns

    `Array`
        Shape `(num_filters,)`.
    """
    width = weight.shape[2]
    windows = []
    for start in range(len(characters)):
        window = bias.copy()
        for offset in range(width):
            if start + offset < len(characters):
                window += weight[:, :, offset] @ characters[start + offset]
        windows.append(relu(window))
    return numpy.max(windows, axis=0)


# ---- 2. Word embedding layer ----


def highway_layer(x: Array, weight: Array, bias: Array) -> Array:
    """
    `y = g * x + (1 - g) * ReLU(W_y x + b_y)` with the gate `g = sigmoid(W_g x + b_g)`, where
    `W = [W_y; W_g]` and `b = [b_y; b_g]`. (The authors write `1 - g` for this `g`.)

    # Parameters

    x : `Array`
        A word, `[character vector; word vector]` in the first layer, shape `(dim,)`.
    weight : `Array`
        `W`, shape `(2 * dim, dim)`.
    bias : `Array`
        `b`, shape `(2 * dim,)`.
    """
    dim = len(x)
    transformed = relu(weight[:dim] @ x + bias[:dim])
    gate = sigmoid(weight[dim:] @ x + bias[dim:])
    return gate * x + (1.0 - gate) * transformed


# ---- 3. Contextual embedding layer ----


class LstmParameters(NamedTuple):
    """
    One direction of an LSTM layer of size `d`. The rows of all four are those of the input gate `i`,
    the forget gate `f`, the new values `g` and the output gate `o`, `d` rows each.
    """

    input_weight: Array  # W, shape (4d, input_dim)
    recurrent_weight: Array  # R, shape (4d, d)
    input_bias: Array  # b, shape (4d,)
    recurrent_bias: Array  # b', shape (4d,)


class BilstmParameters(NamedTuple):
    """Both directions of a bidirectional LSTM layer."""

    forward: LstmParameters
    backward: LstmParameters


def lstm(inputs: Array, parameters: LstmParameters) -> Array:
    """
    From `h_0 = c_0 = 0`, for each word `t`:

        [i; f; g; o] = W x_t + b + R h_{t-1} + b'
        c_t = sigmoid(f) * c_{t-1} + sigmoid(i) * tanh(g)
        h_t = sigmoid(o) * tanh(c_t)

    # Parameters

    inputs : `Array`
        `x`, shape `(length, input_dim)`.

    # Returns

    `Array`
        `h`, shape `(length, d)`.
    """
    size = parameters.recurrent_weight.shape[1]
    hidden, cell = numpy.zeros(size), numpy.zeros(size)
    outputs = []
    for word in inputs:
        gates = (
            parameters.input_weight @ word
            + parameters.input_bias
            + parameters.recurrent_weight @ hidden
            + parameters.recurrent_bias
        )
        input_gate = sigmoid(gates[:size])
        forget_gate = sigmoid(gates[size : 2 * size])
        new_values = numpy.tanh(gates[2 * size : 3 * size])
        output_gate = sigmoid(gates[3 * size :])
        cell = forget_gate * cell + input_gate * new_values
        hidden = output_gate * numpy.tanh(cell)
        outputs.append(hidden)
    return numpy.array(outputs)


def bilstm(inputs: Array, parameters: BilstmParameters) -> Array:
    """
    "We place an LSTM in both directions, and concatenate the outputs of the two LSTMs":
    `[forward h_t; backward h_t]`, shape `(length, 2d)`.
    """
    forward = lstm(inputs, parameters.forward)
    backward = lstm(inputs[::-1], parameters.backward)[::-1]
    return numpy.concatenate([forward, backward], axis=1)


# ---- 4. Attention flow layer: alpha, Eq. 1 ----


def trilinear_similarity(h: Array, u: Array, weight: Array, bias: float) -> float:
    """
    `alpha(h, u) = w^T [h; u; h * u]`, the paper's choice, with `w` of size `6d`. The authors' code adds
    a bias to it.
    """
    return float(weight @ numpy.concatenate([h, u, h * u]) + bias)


def dot_product_similarity(h: Array, u: Array) -> float:
    """`alpha(h, u) = h^T u` (appendix: dot product)."""
    return float(h @ u)


def linear_similarity(h: Array, u: Array, weight: Array, bias: float) -> float:
    """`alpha(h, u) = w^T [h; u]` (appendix: linear), with `w` of size `4d`; and a bias."""
    return float(weight @ numpy.concatenate([h, u]) + bias)


def bilinear_similarity(h: Array, u: Array, weight: Array, bias: float) -> float:
    """`alpha(h, u) = h^T W u` (appendix: bilinear), with `W` of shape `(2d, 2d)`; and a bias."""
    return float(h @ weight @ u + bias)


def mlp_similarity(
    h: Array, u: Array, hidden_weight: Array, hidden_bias: Array, weight: Array
) -> float:
    """`alpha(h, u) = w^T tanh(W [h; u] + b)` (appendix: linear after MLP)."""
    return float(weight @ numpy.tanh(hidden_weight @ numpy.concatenate([h, u]) + hidden_bias))


def similarity_matrix(context: Array, query: Array, similarity: Similarity) -> Array:
    """
    `S_tj = alpha(H_:t, U_:j)` (Eq. 1).

    # Parameters

    context : `Array`
        `H`, shape `(T, 2d)`.
    query : `Array`
        `U`, shape `(J, 2d)`.

    # Returns

    `Array`
        `S`, shape `(T, J)`.
    """
    return numpy.array([[similarity(h, u) for u in query] for h in context])


# ---- 4. Attention flow layer: the two directions ----


def context_to_query(similarities: Array, query: Array) -> tuple[Array, Array]:
    """
    `a_t = softmax(S_t:)` and `U~_:t = sum_j a_tj U_:j`.

    # Returns

    `tuple[Array, Array]`
        `a`, shape `(T, J)`, and `U~`, shape `(T, 2d)`.
    """
    weights, attended = [], []
    for row in similarities:
        weights_of_word = softmax(row)
        weights.append(weights_of_word)
        attended.append(sum(weights_of_word[j] * query[j] for j in range(len(query))))
    return numpy.array(weights), numpy.array(attended)


def no_context_to_query(context_length: int, query: Array) -> tuple[Array, Array]:
    """
    The ablation "No C2Q attention": "we replace the attended question vector `U~` with the average of
    the output vectors of the question's contextual embedding layer", `U~_:t = 1/J sum_j U_:j`.

    # Returns

    `tuple[Array, Array]`
        The weights `1/J`, shape `(T, J)`, and `U~`, shape `(T, 2d)`.
    """
    weights = numpy.full((context_length, len(query)), 1.0 / len(query))
    return weights, numpy.array([query.mean(axis=0) for _ in range(context_length)])


def query_to_context(similarities: Array, context: Array) -> tuple[Array, Array]:
    """
    `b = softmax(max_col(S))`, the largest similarity of each context word to any query word, and
    `h~ = sum_t b_t H_:t`. The paper then repeats `h~` for all `T` words.

    # Returns

    `tuple[Array, Array]`
        `b`, shape `(T,)`, and `h~`, shape `(2d,)`.
    """
    weights = softmax(numpy.array([max(row) for row in similarities]))
    attended = numpy.zeros(context.shape[1])
    for t in range(len(context)):
        attended += weights[t] * context[t]
    return weights, attended


# ---- 4. Attention flow layer: beta, Eq. 2 ----


def concat_fusion(h: Array, attended_query: Array, attended_context: Optional[Array]) -> Array:
    """
    `beta(h, u~, h~) = [h; u~; h * u~; h * h~]`, of size `8d`. Without `h~`, the ablation "No Q2C
    attention", where `G` "does not include terms that have the attended Q2C vectors":
    `[h; u~; h * u~]`, of size `6d`.
    """
    parts = [h, attended_query, h * attended_query]
    if attended_context is not None:
        parts.append(h * attended_context)
    return numpy.concatenate(parts)


def mlp_fusion(
    h: Array,
    attended_query: Array,
    attended_context: Optional[Array],
    weight: Array,
    bias: Array,
) -> Array:
    """
    `beta(h, u~, h~) = max(0, W [h; u~; h * u~; h * h~] + b)` (appendix: MLP after concatenation), with
    `W` of shape `(2d, 8d)`.
    """
    return relu(weight @ concat_fusion(h, attended_query, attended_context) + bias)


# ---- 5. Modelling layer ----


def modeling_layer(query_aware: Array, layers: Sequence[BilstmParameters]) -> Array:
    """
    "We use two layers of bi-directional LSTM": `M = BiLSTM(BiLSTM(G))`, shape `(T, 2d)`.

    # Parameters

    query_aware : `Array`
        `G`, shape `(T, d_G)`.
    """
    modeled = query_aware
    for parameters in layers:
        modeled = bilstm(modeled, parameters)
    return modeled


# ---- 6. Output layer ----


def position_probabilities(query_aware: Array, modeled: Array, weight: Array, bias: float) -> Array:
    """
    `p = softmax(w^T [G; M])`, shape `(T,)`: `p1` with `M`, and `p2` with `M2` in its place. The
    authors' code adds a bias.
    """
    return softmax(
        numpy.array(
            [
                weight @ numpy.concatenate([g, m]) + bias
                for g, m in zip(query_aware, modeled, strict=True)
            ]
        )
    )


def end_layer_input(
    query_aware: Array, modeled: Array, start_probabilities: Array, end_input: str
) -> Array:
    """
    What the BiLSTM reads that makes `M2`.

    `"paper_text"`: "we pass `M` to another bidirectional LSTM layer", `M_:t`.

    `"authors_code"`: `[G_:t; M_:t; a; M_:t * a]` with `a = sum_t p1_t M_:t`.
    """
    if end_input == "paper_text":
        return modeled
    if end_input != "authors_code":
        raise ValueError(f"unknown end_input {end_input!r}")
    summary = numpy.zeros(modeled.shape[1])
    for t in range(len(modeled)):
        summary += start_probabilities[t] * modeled[t]
    return numpy.array(
        [
            numpy.concatenate([g, m, summary, m * summary])
            for g, m in zip(query_aware, modeled, strict=True)
        ]
    )


def best_span(
    start_probabilities: Array, end_probabilities: Array, max_length: Optional[int] = None
) -> tuple[int, int, float]:
    """
    "The answer span `(k, l)` where `k <= l` with the maximum value of `p1_k p2_l` is chosen", by trying
    all of them; of those with at most `max_length` words, if it is given.

    # Returns

    `tuple[int, int, float]`
        `k`, `l` and `p1_k p2_l`.
    """
    best = (-1, -1, -1.0)
    for k in range(len(start_probabilities)):
        for l in range(k, len(end_probabilities)):  # noqa: E741
            probability = float(start_probabilities[k] * end_probabilities[l])
            if (max_length is None or l - k + 1 <= max_length) and probability > best[2]:
                best = (k, l, probability)
    return best


# ---- The network ----


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
    What the paper varies.

    similarity : `str`
        `alpha`: "trilinear" (the paper's model), "dot_product", "linear", "bilinear" or "mlp".
    fusion : `str`
        `beta`: "concat" (the paper's model) or "mlp".
    use_context_to_query, use_query_to_context : `bool`
        False for the ablations of these attentions.
    end_input : `str`
        "authors_code" or "paper_text": see `end_layer_input`.
    """

    similarity: str = "trilinear"
    fusion: str = "concat"
    use_context_to_query: bool = True
    use_query_to_context: bool = True
    end_input: str = "authors_code"


class NumpyBidaf:
    """
    The whole network with the parameters of a model of the plugin.

    # Parameters

    state : `Mapping[str, NDArray]`
        The model's `state_dict()` as NumPy arrays. LSTM layers may be those of `unpacked_lstm` or
        those of AllenNLP's `lstm`. `alpha` "mlp" is read from `_attention._similarity._hidden` (weight
        and bias) and `._weight_vector`, `beta` "mlp" from `_attention._fusion._linear`.
    choices : `Choices`
    """

    def __init__(self, state: Mapping[str, NDArray], choices: Optional[Choices] = None) -> None:
        self._word_rows: Sequence[int] = state[
            "_text_field_embedder.token_embedder_tokens.rows"
        ].tolist()
        self._state: dict[str, Array] = {
            name: value.astype(numpy.float64) for name, value in state.items()
        }
        self._choices = choices or Choices()
        self._similarity = self._make_similarity()
        self._num_highway_layers = len(
            [name for name in state if name.startswith("_highway") and name.endswith("weight")]
        )
        self._contextual = self._read_bilstm_layers("_contextual_layer")
        self._modeling = self._read_bilstm_layers("_modeling_layer")
        self._end = self._read_bilstm_layers("_output_layer._end_encoder")

    def run(self, context: Text, query: Text) -> dict[str, Array]:
        """
        # Returns

        `dict[str, Array]`
            `H`, `U`, `S`, `a`, `b`, `G`, `M`, `p1` and `p2` of the paper.
        """
        encoded_context = self._encode(context)
        encoded_query = self._encode(query)

        similarities = similarity_matrix(encoded_context, encoded_query, self._similarity)
        if self._choices.use_context_to_query:
            query_weights, attended_query = context_to_query(similarities, encoded_query)
        else:
            query_weights, attended_query = no_context_to_query(len(encoded_context), encoded_query)
        context_weights, attended_context = query_to_context(similarities, encoded_context)
        query_aware = numpy.array(
            [
                self._fuse(
                    encoded_context[t],
                    attended_query[t],
                    attended_context if self._choices.use_query_to_context else None,
                )
                for t in range(len(encoded_context))
            ]
        )

        modeled = modeling_layer(query_aware, self._modeling)
        start_probabilities = position_probabilities(
            query_aware, modeled, *self._read_scorer("_output_layer._start_scorer")
        )
        end_input = end_layer_input(
            query_aware, modeled, start_probabilities, self._choices.end_input
        )
        end_probabilities = position_probabilities(
            query_aware,
            modeling_layer(end_input, self._end),
            *self._read_scorer("_output_layer._end_scorer"),
        )
        return {
            "H": encoded_context,
            "U": encoded_query,
            "S": similarities,
            "a": query_weights,
            "b": context_weights,
            "G": query_aware,
            "M": modeled,
            "p1": start_probabilities,
            "p2": end_probabilities,
        }

    def _encode(self, text: Text) -> Array:
        """
        The first three layers, shared by context and query: `H` or `U`. "The concatenation of the
        character and word embedding vectors is passed to a two-layer Highway Network", and its output
        to the BiLSTM.
        """
        words = []
        for word_id, character_ids in zip(text.word_ids, text.character_ids, strict=True):
            word = numpy.concatenate(
                [self._character_vector(character_ids), self._word_vector(word_id)]
            )
            for layer in range(self._num_highway_layers):
                word = highway_layer(
                    word,
                    self._state[f"_highway._layers.{layer}.weight"],
                    self._state[f"_highway._layers.{layer}.bias"],
                )
            words.append(word)
        return modeling_layer(numpy.array(words), self._contextual)

    def _character_vector(self, character_ids: Sequence[int]) -> Array:
        prefix = "_text_field_embedder.token_embedder_token_characters."
        table = self._state[prefix + "_embedding._module.weight"]
        return character_cnn(
            numpy.array([table[character_id] for character_id in character_ids]),
            self._state[prefix + "_encoder._module._convolution.weight"],
            self._state[prefix + "_encoder._module._convolution.bias"],
        )

    def _word_vector(self, word_id: int) -> Array:
        """Row `r >= 0` of the fixed vectors (GloVe's), or row `-1 - r` of the trained ones."""
        row = self._word_rows[word_id]
        prefix = "_text_field_embedder.token_embedder_tokens."
        if row >= 0:
            return self._state[prefix + "fixed"][row]
        return self._state[prefix + "trained"][-1 - row]

    def _make_similarity(self) -> Similarity:
        """`alpha` with its parameters."""
        name = self._choices.similarity
        prefix = "_attention._similarity."
        if name == "dot_product":
            return dot_product_similarity
        if name == "mlp":
            hidden_weight = self._state[prefix + "_hidden.weight"]
            hidden_bias = self._state[prefix + "_hidden.bias"]
            vector = self._state[prefix + "_weight_vector"]
            return lambda h, u: mlp_similarity(h, u, hidden_weight, hidden_bias, vector)
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
            h,
            attended_query,
            attended_context,
            self._state["_attention._fusion._linear.weight"],
            self._state["_attention._fusion._linear.bias"],
        )

    def _read_scorer(self, prefix: str) -> tuple[Array, float]:
        """`w` as a vector, and the bias."""
        (weight,) = self._state[prefix + ".weight"]
        return weight, self._state[prefix + ".bias"].item()

    def _read_bilstm_layers(self, prefix: str) -> list[BilstmParameters]:
        """The layers of a stacked BiLSTM, from the first one that reads the input."""
        layers: list[BilstmParameters] = []
        while True:
            number = len(layers)
            if f"{prefix}._forward_lstms.{number}.weight_ih_l0" in self._state:
                forward = self._read_lstm(f"{prefix}._forward_lstms.{number}.", "l0")
                backward = self._read_lstm(f"{prefix}._backward_lstms.{number}.", "l0")
            elif f"{prefix}._module.weight_ih_l{number}" in self._state:
                forward = self._read_lstm(f"{prefix}._module.", f"l{number}")
                backward = self._read_lstm(f"{prefix}._module.", f"l{number}_reverse")
            elif layers:
                return layers
            else:
                raise KeyError(f"no LSTM under {prefix}")
            layers.append(BilstmParameters(forward, backward))

    def _read_lstm(self, prefix: str, suffix: str) -> LstmParameters:
        return LstmParameters(
            *(
                self._state[f"{prefix}{name}_{suffix}"]
                for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            )
        )

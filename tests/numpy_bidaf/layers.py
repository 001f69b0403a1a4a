"""
The six layers of the paper, with the functions `alpha` and `beta` of its appendix and its ablations of
the two attentions.
"""

from collections.abc import Callable, Sequence
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


def lstm_step(
    word: Array, hidden: Array, cell: Array, parameters: LstmParameters
) -> tuple[Array, Array]:
    """
    From `x_t`, `h_{t-1}` and `c_{t-1}`:

        [i; f; g; o] = W x_t + b + R h_{t-1} + b'
        c_t = sigmoid(f) * c_{t-1} + sigmoid(i) * tanh(g)
        h_t = sigmoid(o) * tanh(c_t)

    # Returns

    `tuple[Array, Array]`
        `h_t` and `c_t`, both of shape `(d,)`.
    """
    size = len(hidden)
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
    return output_gate * numpy.tanh(cell), cell


def lstm(inputs: Array, parameters: LstmParameters) -> Array:
    """
    `lstm_step` for each word, from `h_0 = c_0 = 0`.

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
        hidden, cell = lstm_step(word, hidden, cell, parameters)
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


def linear_after_mlp_similarity(
    h: Array, u: Array, hidden_weight: Array, hidden_bias: Array, weight: Array
) -> float:
    """
    `alpha(h, u) = w^T tanh(W [h; u] + b)` (appendix: linear after MLP). The paper leaves the size of
    the hidden layer open.
    """
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


def position_probabilities(
    query_aware: Array,
    modeled: Array,
    weight: Array,
    bias: float,
    no_answer_logit: Optional[float] = None,
) -> Array:
    """
    `p = softmax(w^T [G; M])`, shape `(T,)`: `p1` with `M`, and `p2` with `M2` in its place. The
    authors' code adds a bias.

    With `no_answer_logit` one more outcome follows the words, that there is no answer (Levy et al., 2017).
    Shape `(T + 1,)`.
    """
    scores = [
        weight @ numpy.concatenate([g, m]) + bias
        for g, m in zip(query_aware, modeled, strict=True)
    ]
    if no_answer_logit is not None:
        scores.append(no_answer_logit)
    return softmax(numpy.array(scores))


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

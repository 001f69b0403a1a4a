"""
What the paper compares its model with, and what goes beyond it: attention inside the modelling layer,
several hops of attention, and a passage that attends to itself.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy

from tests.numpy_bidaf.layers import (
    Array,
    LstmParameters,
    lstm_step,
    relu,
    softmax,
    trilinear_similarity,
)

# ---- Dynamic attention ----


class DynamicAttentionParameters(NamedTuple):
    """One direction of a layer of size `d`."""

    attention_weight: Array  # W, shape (hidden_dim, 6d)
    attention_bias: Array  # b, shape (hidden_dim,)
    attention_vector: Array  # w, shape (hidden_dim,)
    cell: LstmParameters  # reads 8d


class BidirectionalDynamicAttentionParameters(NamedTuple):
    """Both directions of a layer."""

    forward: DynamicAttentionParameters
    backward: DynamicAttentionParameters


def dynamic_attention_lstm(
    inputs: Array, query: Array, parameters: DynamicAttentionParameters
) -> Array:
    """
    The ablation "Dynamic attention": "the attention is dynamically computed within the modeling layer's
    LSTM, following previous work". From `c = s = 0`, for each word `x`:

        a_j = softmax_j(w^T tanh(W [x; c; s; u_j] + b))
        u~ = sum_j a_j u_j
        (c, s) = LSTM([x; u~; x * u~; |x - u~|], (c, s))

    (The paper gives no equations. These are those of the plugin's `DynamicAttentionEncoder`.)

    # Parameters

    inputs : `Array`
        `x`, shape `(T, 2d)`.
    query : `Array`
        `U`, shape `(J, 2d)`.

    # Returns

    `Array`
        `s` after each word, shape `(T, d)`.
    """
    size = parameters.cell.recurrent_weight.shape[1]
    state, cell = numpy.zeros(size), numpy.zeros(size)
    states = []
    for x in inputs:
        scores = []
        for u in query:
            hidden = numpy.tanh(
                parameters.attention_weight @ numpy.concatenate([x, cell, state, u])
                + parameters.attention_bias
            )
            scores.append(parameters.attention_vector @ hidden)
        weights = softmax(numpy.array(scores))
        attended = numpy.zeros(query.shape[1])
        for j in range(len(query)):
            attended += weights[j] * query[j]
        cell_input = numpy.concatenate([x, attended, x * attended, abs(x - attended)])
        state, cell = lstm_step(cell_input, state, cell, parameters.cell)
        states.append(state)
    return numpy.array(states)


def dynamic_attention(
    context: Array, query: Array, layers: Sequence[BidirectionalDynamicAttentionParameters]
) -> Array:
    """
    Layers of `dynamic_attention_lstm` in both directions, in place of attention flow and modelling
    layer. The first reads `H`, each of the others what the one below gives; all attend to `U`.

    # Returns

    `Array`
        `M`, shape `(T, 2d)`.
    """
    modeled = context
    for parameters in layers:
        forward = dynamic_attention_lstm(modeled, query, parameters.forward)
        backward = dynamic_attention_lstm(modeled[::-1], query, parameters.backward)[::-1]
        modeled = numpy.concatenate([forward, backward], axis=1)
    return modeled


# ---- Several hops ----


def take_in(context: Array, query_aware: Array, weight: Array, bias: Array) -> Array:
    """
    `h_t + tanh(W g_t + b)`: the context of the next hop, which knows what this one saw. (The paper's
    future work is "to incorporate multiple hops of the attention layer", without equations. This is
    that of the plugin's `BiAttention`.)

    # Parameters

    context : `Array`
        `H`, shape `(T, 2d)`.
    query_aware : `Array`
        `G`, shape `(T, d_G)`.
    weight : `Array`
        `W`, shape `(2d, d_G)`.
    bias : `Array`
        `b`, shape `(2d,)`.
    """
    return numpy.array(
        [h + numpy.tanh(weight @ g + bias) for h, g in zip(context, query_aware, strict=True)]
    )


# ---- Self-attention ----


class SelfAttentionParameters(NamedTuple):
    """A hop in which vectors of size `dim` attend to each other as vectors of size `hidden_dim`."""

    reduction_weight: Array  # V, shape (hidden_dim, dim)
    reduction_bias: Array  # b', shape (hidden_dim,)
    similarity_weight: Array  # w, shape (3 * hidden_dim,)
    similarity_bias: float
    expansion_weight: Array  # W, shape (dim, 3 * hidden_dim)
    expansion_bias: Array  # b, shape (dim,)


def self_attention(query_aware: Array, parameters: SelfAttentionParameters) -> Array:
    """
    The passage attends to itself (Clark & Gardner, 2018), with the attention of the paper:

        x_t = ReLU(V g_t + b')
        S_ts = w^T [x_t; x_s; x_t * x_s]
        x~_t = sum_{s != t} softmax_{s != t}(S_ts) x_s
        g_t + ReLU(W [x_t; x~_t; x_t * x~_t] + b)

    `alpha` has a bias, as in the rest of the network. The only word of a passage has nothing to attend
    to: `x~` is 0.

    # Parameters

    query_aware : `Array`
        `G`, shape `(T, dim)`.

    # Returns

    `Array`
        Shape `(T, dim)`.
    """
    words = [relu(parameters.reduction_weight @ g + parameters.reduction_bias) for g in query_aware]
    outputs = []
    for t, word in enumerate(words):
        others = [other for s, other in enumerate(words) if s != t]
        attended = numpy.zeros(len(word))
        if others:
            similarities = [
                trilinear_similarity(
                    word, other, parameters.similarity_weight, parameters.similarity_bias
                )
                for other in others
            ]
            weights = softmax(numpy.array(similarities))
            for weight, other in zip(weights, others, strict=True):
                attended += weight * other
        fused = numpy.concatenate([word, attended, word * attended])
        outputs.append(
            query_aware[t] + relu(parameters.expansion_weight @ fused + parameters.expansion_bias)
        )
    return numpy.array(outputs)

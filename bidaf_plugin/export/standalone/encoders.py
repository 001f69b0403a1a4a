"""
The layers that read words in their order.
"""

from typing import Any, Callable, Dict, List, Optional, Protocol

import torch

from bidaf_plugin.export.standalone.similarities import linear_similarity
from bidaf_plugin.export.standalone.tensors import (
    Tensors,
    linear,
    masked_softmax,
    numbered_parts,
    part,
)


class Question:
    """
    What a layer may look at beside the passage.

    # Parameters

    vectors : `torch.Tensor`
        Shape `(batch_size, question_length, encoding_dim)`.
    mask : `torch.BoolTensor`
        Shape `(batch_size, question_length)`.
    """

    def __init__(self, vectors: torch.Tensor, mask: torch.Tensor) -> None:
        self.vectors = vectors
        self.mask = mask


class Layer(Protocol):
    def __call__(
        self, vectors: torch.Tensor, mask: torch.Tensor, question: Optional[Question]
    ) -> torch.Tensor:
        """Shape: (batch_size, length, output_dim)"""


class BiLstm:
    """
    A stacked bidirectional LSTM.

    # Parameters

    tensors : `Tensors`
        For each layer those of its `forward` and of its `backward` direction, with torch's names.
    """

    def __init__(self, tensors: Tensors) -> None:
        self._layers = numbered_parts(tensors)

    def __call__(
        self, vectors: torch.Tensor, mask: torch.Tensor, question: Optional[Question] = None
    ) -> torch.Tensor:
        # Shape: (batch_size, length, 1)
        order = _backwards(mask)
        for layer in self._layers:
            # Shape: (batch_size, length, hidden_size)
            forward = _run_lstm(vectors, part(layer, "forward"))
            backward = _run_lstm(
                vectors.gather(1, order.expand_as(vectors)), part(layer, "backward")
            )
            # Shape: (batch_size, length, 2 * hidden_size)
            vectors = torch.cat([forward, backward.gather(1, order.expand_as(backward))], dim=-1)
            vectors = vectors * mask.unsqueeze(-1)
        return vectors


def _backwards(mask: torch.Tensor) -> torch.Tensor:
    """The order that turns each text round and leaves its padding. Shape: (batch_size, length, 1)"""
    # Shape: (1, length)
    positions = torch.arange(mask.size(1)).unsqueeze(0)
    # Shape: (batch_size, 1)
    lengths = mask.sum(dim=1, keepdim=True)
    return torch.where(positions < lengths, lengths - 1 - positions, positions).unsqueeze(-1)


def _run_lstm(vectors: torch.Tensor, tensors: Tensors) -> torch.Tensor:
    """One direction of one layer. Shape: (batch_size, length, hidden_size)"""
    weights = [tensors[name] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    # Shape: (1, batch_size, hidden_size)
    zeros = vectors.new_zeros(1, len(vectors), weights[1].size(1))
    outputs, _, _ = torch._VF.lstm(  # type: ignore[attr-defined]
        vectors, [zeros, zeros], weights, True, 1, 0.0, False, False, True
    )
    return outputs


class SelfAttention:
    """The passage attends to itself: see `SelfAttentionEncoder`, whose tensors it takes."""

    def __init__(self, tensors: Tensors) -> None:
        self._reduction, self._similarity, self._expansion = (
            part(tensors, name) for name in ("reduction", "similarity", "expansion")
        )

    def __call__(
        self, vectors: torch.Tensor, mask: torch.Tensor, question: Optional[Question] = None
    ) -> torch.Tensor:
        # Shape: (batch_size, length, hidden_dim)
        words = torch.relu(linear(vectors, self._reduction))
        # Shape: (batch_size, length, length)
        similarity = linear_similarity(words, words, self._similarity, ["x", "y", "x*y"])
        # Shape: (batch_size, length, length)
        may_attend = mask.unsqueeze(1) & ~torch.eye(words.size(1), dtype=torch.bool)
        # Shape: (batch_size, length, hidden_dim)
        attended = (may_attend * masked_softmax(similarity, may_attend)) @ words
        # Shape: (batch_size, length, 3 * hidden_dim)
        features = torch.cat([words, attended, words * attended], dim=-1)
        return vectors + torch.relu(linear(features, self._expansion))


class DynamicAttention:
    """
    An LSTM that looks at the question at every step: see `DynamicAttentionEncoder`.

    # Parameters

    tensors : `Tensors`
        For each layer those of its `forward` and of its `backward` direction.
    """

    def __init__(self, tensors: Tensors) -> None:
        self._layers = numbered_parts(tensors)

    def __call__(
        self, vectors: torch.Tensor, mask: torch.Tensor, question: Optional[Question]
    ) -> torch.Tensor:
        assert question is not None
        # Shape: (batch_size, length, 1)
        order = _backwards(mask)
        outputs = vectors
        for layer in self._layers:
            # Shape: (batch_size, length, hidden_size)
            forward = _attend_and_read(outputs, question, part(layer, "forward"))
            reversed_outputs = outputs.gather(1, order.expand_as(outputs))
            backward = _attend_and_read(reversed_outputs, question, part(layer, "backward"))
            # Shape: (batch_size, length, 2 * hidden_size)
            outputs = torch.cat([forward, backward.gather(1, order.expand_as(backward))], dim=-1)
        return outputs * mask.unsqueeze(-1)


def _attend_and_read(inputs: torch.Tensor, question: Question, tensors: Tensors) -> torch.Tensor:
    """One direction. Shape: (batch_size, length, hidden_size)"""
    cell = part(tensors, "cell")
    cell_weights = [cell[name] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    # Shape: (batch_size, length, hidden_size)
    projected_inputs = linear(inputs, part(tensors, "input_projection"))
    # Shape: (batch_size, question_length, hidden_size)
    projected_question = linear(question.vectors, part(tensors, "question_projection"))
    state_projection, scorer = part(tensors, "state_projection"), part(tensors, "scorer")
    # Shape: (batch_size, hidden_size) for both
    state = cell_state = torch.zeros_like(projected_inputs[:, 0])
    states: List[torch.Tensor] = []
    # Shape: (batch_size, 2 * hidden_size) and (batch_size, hidden_size)
    for word, projected_word in zip(inputs.unbind(1), projected_inputs.unbind(1), strict=True):
        # Shape: (batch_size, hidden_size)
        query = projected_word + linear(torch.cat([cell_state, state], dim=-1), state_projection)
        # Shape: (batch_size, question_length)
        scores = linear(torch.tanh(query.unsqueeze(1) + projected_question), scorer).squeeze(-1)
        attention = masked_softmax(scores, question.mask)
        # Shape: (batch_size, 2 * hidden_size)
        attended = (attention.unsqueeze(1) @ question.vectors).squeeze(1)
        # Shape: (batch_size, 8 * hidden_size)
        cell_input = torch.cat([word, attended, word * attended, (word - attended).abs()], dim=-1)
        state, cell_state = torch.lstm_cell(cell_input, [state, cell_state], *cell_weights)
        states.append(state)
    return torch.stack(states, dim=1)


class Encoder:
    """
    Layers one after the other.

    # Parameters

    settings : `List[Dict[str, Any]]`
        Of each layer, with its `type`.
    tensors : `Tensors`
        Of the layers, by their numbers.
    """

    def __init__(self, settings: List[Dict[str, Any]], tensors: Tensors) -> None:
        types: Dict[str, Callable[[Tensors], Layer]] = {
            "bilstm": BiLstm,
            "self_attention": SelfAttention,
            "dynamic_attention": DynamicAttention,
        }
        self._layers: List[Layer] = [
            types[setting["type"]](tensors_of_layer)
            for setting, tensors_of_layer in zip(settings, numbered_parts(tensors), strict=True)
        ]

    def __call__(
        self, vectors: torch.Tensor, mask: torch.Tensor, question: Optional[Question] = None
    ) -> torch.Tensor:
        for layer in self._layers:
            # Shape: (batch_size, length, output_dim)
            vectors = layer(vectors, mask, question)
        return vectors

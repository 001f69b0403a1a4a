from typing import Any, Dict

import torch

from bidaf_plugin.export.standalone.encoders import Question
from bidaf_plugin.export.standalone.similarities import similarity
from bidaf_plugin.export.standalone.tensors import (
    Tensors,
    linear,
    masked_softmax,
    numbered_parts,
    part,
)


class Attention:
    """
    The fourth layer: see `BiAttention`.

    # Parameters

    settings : `Dict[str, Any]`
        Those of the `similarity`, `context_to_query`, `query_to_context`.
    tensors : `Tensors`
        `similarity`, the layer of the `fusion` if it has one, and a layer before each of the `hops`
        after the first.
    """

    def __init__(self, settings: Dict[str, Any], tensors: Tensors) -> None:
        self._context_to_query: bool = settings["context_to_query"]
        self._query_to_context: bool = settings["query_to_context"]
        self._similarity_settings: Dict[str, Any] = settings["similarity"]
        self._similarity_tensors = part(tensors, "similarity")
        self._fusion = part(tensors, "fusion")
        self._hops = numbered_parts(part(tensors, "hops"))

    def __call__(
        self, passage: torch.Tensor, mask: torch.Tensor, question: Question
    ) -> torch.Tensor:
        """
        # Parameters

        passage : `torch.Tensor`
            `H`, shape `(batch_size, passage_length, encoding_dim)`.
        mask : `torch.BoolTensor`
            Shape `(batch_size, passage_length)`.
        question : `Question`
            `U`.

        # Returns

        `torch.Tensor`
            `G`, shape `(batch_size, passage_length, query_aware_dim)`.
        """
        query_aware = self._attend(passage, mask, question)
        for hop in self._hops:
            # Shape: (batch_size, passage_length, encoding_dim)
            passage = passage + torch.tanh(linear(query_aware, hop))
            query_aware = self._attend(passage, mask, question)
        return query_aware

    def _attend(
        self, passage: torch.Tensor, mask: torch.Tensor, question: Question
    ) -> torch.Tensor:
        # Shape: (batch_size, 1, question_length)
        question_mask = question.mask.unsqueeze(1)
        # Shape: (batch_size, passage_length, question_length)
        similarities = similarity(
            passage, question.vectors, self._similarity_settings, self._similarity_tensors
        )
        # Shape: (batch_size, passage_length, question_length)
        attention = masked_softmax(
            similarities if self._context_to_query else torch.zeros_like(similarities),
            question_mask,
        )
        # Shape: (batch_size, passage_length, encoding_dim)
        attended_question = attention @ question.vectors
        fused = [passage, attended_question, passage * attended_question]
        if self._query_to_context:
            lowest = torch.finfo(similarities.dtype).min
            # Shape: (batch_size, passage_length)
            largest = similarities.masked_fill(~question_mask, lowest).max(dim=-1).values
            # Shape: (batch_size, 1, encoding_dim)
            attended_passage = masked_softmax(largest, mask).unsqueeze(1) @ passage
            fused.append(passage * attended_passage)
        # Shape: (batch_size, passage_length, 4 * encoding_dim)
        concatenated = torch.cat(fused, dim=-1)
        return torch.relu(linear(concatenated, self._fusion)) if self._fusion else concatenated

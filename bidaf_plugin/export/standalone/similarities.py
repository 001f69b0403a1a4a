"""
The function `alpha(h, u)` of the attention layer, for all pairs of passage and question words.
"""

from typing import Any, Dict, List

import torch

from bidaf_plugin.export.standalone.tensors import Tensors, linear, part


def linear_similarity(
    passage: torch.Tensor, question: torch.Tensor, tensors: Tensors, terms: List[str]
) -> torch.Tensor:
    """`w^T [h; u; h * u] + b`, or what of it is among the terms `x`, `y`, `x*y`."""
    weights = tensors["weight_vector"].split(passage.size(-1))
    # Shape: (1,)
    total = tensors["bias"].new_zeros(1)
    for term, weight in zip(terms, weights, strict=True):
        # Shape: (batch_size, passage_length, question_length), or 1 for one of the lengths
        if term == "x":
            product = (passage @ weight).unsqueeze(2)
        elif term == "y":
            product = (question @ weight).unsqueeze(1)
        else:
            product = (passage * weight) @ question.transpose(1, 2)
        total = total + product
    return total + tensors["bias"]


def similarity(
    passage: torch.Tensor, question: torch.Tensor, settings: Dict[str, Any], tensors: Tensors
) -> torch.Tensor:
    """
    # Parameters

    passage : `torch.Tensor`
        `H`, shape `(batch_size, passage_length, encoding_dim)`.
    question : `torch.Tensor`
        `U`, shape `(batch_size, question_length, encoding_dim)`.
    settings : `Dict[str, Any]`
        The `type`, and the `terms` of a linear one.
    tensors : `Tensors`

    # Returns

    `torch.Tensor`
        `S`, shape `(batch_size, passage_length, question_length)`.
    """
    if settings["type"] == "linear":
        return linear_similarity(passage, question, tensors, settings["terms"])
    if settings["type"] == "linear_after_mlp":
        # Shape: (batch_size, passage_length, 1, hidden_dim)
        projected_passage = linear(passage, part(tensors, "matrix_1_projection")).unsqueeze(2)
        # Shape: (batch_size, 1, question_length, hidden_dim)
        projected_question = linear(question, part(tensors, "matrix_2_projection")).unsqueeze(1)
        # Shape: (batch_size, passage_length, question_length)
        return torch.tanh(projected_passage + projected_question) @ tensors["weight_vector"]
    if settings["type"] == "bilinear":
        # Shape: (batch_size, passage_length, question_length)
        return (passage @ tensors["weight_matrix"]) @ question.transpose(1, 2) + tensors["bias"]
    # The dot product.
    return passage @ question.transpose(1, 2)

"""
Tensors by name, where `layer.0.weight` is the `weight` of the part `0` of the part `layer`.
"""

from typing import Dict, List

import torch

Tensors = Dict[str, torch.Tensor]


def part(tensors: Tensors, name: str) -> Tensors:
    """The tensors of one part, under their names in it."""
    prefix = f"{name}."
    return {
        key.removeprefix(prefix): tensor
        for key, tensor in tensors.items()
        if key.startswith(prefix)
    }


def numbered_parts(tensors: Tensors) -> List[Tensors]:
    """The parts `0`, `1`, ... in their order."""
    numbers = {int(key.partition(".")[0]) for key in tensors}
    return [part(tensors, str(number)) for number in sorted(numbers)]


def linear(vectors: torch.Tensor, tensors: Tensors) -> torch.Tensor:
    """`W x + b` for all vectors `x`. Shape: (..., output_dim)"""
    return torch.nn.functional.linear(vectors, tensors["weight"], tensors.get("bias"))


def masked_softmax(logits: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Over the last dimension, in which only the unmasked have a share; equal shares if none is."""
    lowest = torch.finfo(logits.dtype).min
    return logits.masked_fill(~mask, lowest).softmax(dim=-1)

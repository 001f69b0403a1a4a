"""
Large products of matrices on the CPU, without gradients.

torch multiplies by MKL, which uses only half the width of the vectors (AVX-512) that processors of AMD
have. oneDNN, which torch has for convolutions and the like, uses all of it there, and is twice as fast. With
mixed precision it is twice as fast again, where processors multiply bfloat16 (sums stay in single precision).
"""

from contextlib import contextmanager
from functools import lru_cache
from typing import Iterator, Optional

import torch

# The words of a usual passage.
_ROWS_TO_PACK_FOR = 140

_has_mixed_precision = False


@contextmanager
def mixed_precision() -> Iterator[None]:
    """While it lasts, the products of training steps that begin are made of numbers of type `bfloat16`."""
    global _has_mixed_precision
    before, _has_mixed_precision = _has_mixed_precision, True
    try:
        yield
    finally:
        _has_mixed_precision = before


def product_type(numbers: torch.Tensor) -> torch.dtype:
    """What type the factors of products should have in training."""
    is_mixed = _has_mixed_precision and numbers.dtype == torch.float32 and multiplies_bfloat16()
    return torch.bfloat16 if is_mixed else numbers.dtype


@lru_cache(maxsize=1)
def multiplies_bfloat16() -> bool:
    """Whether the processor has instructions for that."""
    capabilities = torch.cpu.get_capabilities()
    has_instructions = capabilities.get("avx512_bf16") or capabilities.get("amx_bf16")
    return bool(has_instructions) and torch.backends.mkldnn.is_available()


def linear(
    vectors: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor] = None
) -> torch.Tensor:
    """What `torch.nn.functional.linear` computes."""
    if is_for_onednn(vectors, weight):
        if weight.layout == torch.strided and not (
            weight.is_contiguous() or weight.t().is_contiguous()
        ):
            # For a part of a matrix oneDNN has nothing but its definition, a thousand times as slow.
            weight = weight.contiguous()
        # Shape: (num_vectors, output_dim)
        product = torch.ops.mkldnn._linear_pointwise(
            vectors.flatten(0, -2), weight, bias, "none", [], ""
        )
        # A tensor of its own and not a view, so that more can be added to it in place.
        return torch.ops.aten._unsafe_view(product, [*vectors.shape[:-1], -1])
    return torch.nn.functional.linear(vectors, weight, bias)


def pack(weight: torch.Tensor) -> Optional[torch.Tensor]:
    """A matrix that `linear` is to multiply often, in the order that oneDNN likes best; None without oneDNN."""
    if not is_for_onednn(weight, weight):
        return None
    return torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), _ROWS_TO_PACK_FOR)


def multiply(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """`left @ right`, of matrices."""
    return linear(left, right.t())


def multiply_transposed(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """`left.t() @ right`, of matrices with many rows."""
    if is_for_onednn(left, right) and right.size(1) < left.size(1):
        # oneDNN copies a first factor that is transposed: that should be the smaller one.
        return multiply(right.t(), left).t().contiguous()
    return multiply(left.t(), right)


def is_for_onednn(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether oneDNN is the faster way to multiply these."""
    return (
        left.dtype == right.dtype == torch.float32
        and left.device.type == right.device.type == "cpu"
        and min(left.numel(), right.numel()) > 0
        and is_onednn_faster()
    )


@lru_cache(maxsize=1)
def is_onednn_faster() -> bool:
    """Whether this is a processor that MKL makes too little of."""
    capabilities = torch.cpu.get_capabilities()
    return (
        torch.backends.mkl.is_available()
        and torch.backends.mkldnn.is_available()
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
        and str(capabilities.get("cpu_name")).startswith("AMD")
        and bool(capabilities.get("avx512_f"))
    )

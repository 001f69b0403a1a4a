"""
The compiled part, `kernels.cpp`, through its plain C interface. It is built when the package is installed, where
there is a compiler.
"""

import ctypes
import logging
import os
from functools import lru_cache
from pathlib import Path
from typing import Any, Optional, Tuple

import torch

logger = logging.getLogger(__name__)

# What each kind of processor can run, the fastest first: names of torch for them, and of the files.
_FILES_OF_CAPABILITY = {
    "AVX512": ("avx512", "avx2", "generic"),
    "AVX2": ("avx2", "generic"),
}
# A forked process has none of its parent's threads, and must not wait for them.
_process = os.getpid()


@lru_cache(maxsize=1)
def library() -> Optional[ctypes.CDLL]:
    """The compiled functions, or None where they were not built. Says so once."""
    capability = torch.backends.cpu.get_cpu_capability()
    for kind in _FILES_OF_CAPABILITY.get(capability, ("generic",)):
        for path in Path(__file__).parent.glob(f"_kernels_{kind}.*so"):
            try:
                return ctypes.CDLL(str(path))
            except OSError as error:
                logger.warning("%s cannot be loaded (%s)", path.name, error)
    logger.warning("the native kernels have not been built: torch's do their work, more slowly")
    return None


def can_take(tensor: torch.Tensor) -> bool:
    """Whether the compiled functions can take such a tensor."""
    return (
        tensor.device.type == "cpu"
        and tensor.dtype in (torch.float32, torch.float64)
        and tensor.numel() > 0
        and library() is not None
    )


def with_vectors_in_a_row(part: torch.Tensor) -> torch.Tensor:
    """The numbers of a vector side by side, as the compiled functions need them."""
    return part if part.stride(-1) == 1 else part.contiguous()


def columns(part: torch.Tensor, first_column: int) -> Tuple[int, int, int, int]:
    """How the compiled functions are told of vectors of shape `(batch_size, length or 1, size)`."""
    word_distance = part.stride(1) if part.size(1) > 1 else 0
    return part.stride(0), word_distance, part.size(-1), first_column


def call(name: str, number_type: torch.dtype, *arguments: Any) -> None:
    """
    # Parameters

    name : `str`
        Of a function of `kernels.cpp`, without its number type.
    arguments : `Any`
        Tensors, which must be contiguous, None, and integers. The number of threads follows them.
    """
    function = getattr(library(), f"{name}_{'float' if number_type == torch.float32 else 'double'}")
    num_threads = torch.get_num_threads() if os.getpid() == _process else 1
    numbers = [_as_number(argument) for argument in (*arguments, num_threads)]
    if function.argtypes is None:
        # Addresses are numbers of 64 bits, too.
        function.argtypes = [ctypes.c_int64] * len(numbers)
    function(*numbers)


def _as_number(argument: Any) -> int:
    if isinstance(argument, int):
        return argument
    return 0 if argument is None else argument.data_ptr()

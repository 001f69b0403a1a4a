"""
The compiled part, `kernels.cpp`, through its plain C interface. It is built when the package is installed, where
there is a compiler.
"""

import ctypes
import logging
import os
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, Callable, Iterator, NamedTuple, Optional, Sequence, Tuple

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


def can_run(inputs: torch.Tensor) -> bool:
    """
    Whether the compiled functions can take such inputs: single or double precision, on the CPU. What is traced
    is made of torch's functions alone: of these it would keep no more than the numbers that they gave.
    """
    return (
        not torch.jit.is_tracing()
        and inputs.device.type == "cpu"
        and inputs.dtype in (torch.float32, torch.float64)
        and inputs.numel() > 0
        and not torch.is_autocast_enabled("cpu")
        and library() is not None
    )


def with_vectors_in_a_row(term: torch.Tensor) -> torch.Tensor:
    """The numbers of a vector side by side, as the compiled functions need them."""
    return term if term.stride(-1) == 1 else term.contiguous()


def columns_of_terms(
    terms: Sequence[torch.Tensor],
) -> Iterator[Tuple[int, int, int, int]]:
    """
    How the compiled functions are told of each term of `[a; b; ...]`, shape `(batch_size, length or 1, size)`:
    the distances between the vectors of two passages and of two words, the size, and the first column.
    """
    first_column = 0
    for term in terms:
        word_distance = term.stride(1) if term.size(1) > 1 else 0
        yield term.stride(0), word_distance, term.size(-1), first_column
        first_column += term.size(-1)


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


_LEVELS = 1 << 32


class DropoutMask(NamedTuple):
    """
    What dropout drops, as one random number from which the kernels compute it, forward and again backward.
    torch draws on the CPU one number after the other for all elements, which takes a quarter of a training
    step.
    """

    seed: int
    num_dropped: int
    """Of `2 ** 32` numbers."""
    is_by_text: int = 0
    """Whether all words of a text have the same numbers dropped."""

    @classmethod
    def draw(cls, rate: float, is_by_text: bool = False) -> "DropoutMask":
        if rate == 0.0:
            return cls(0, 0)
        num_dropped = min(round(rate * _LEVELS), _LEVELS - 1)
        return cls(int(torch.randint(1 << 62, (1,))), num_dropped, int(is_by_text))


def first_derivatives_only(backward: Callable[..., Any]) -> Callable[..., Any]:
    """
    For the `backward` of a `torch.autograd.Function` that cannot be differentiated itself. torch would take
    what it returns for constant, and second derivatives would be wrong without a word.
    """

    @wraps(backward)
    def run(ctx: Any, *gradients: torch.Tensor) -> Any:
        # It is, if and only if the gradients are wanted with a graph of their own.
        if torch.is_grad_enabled():
            raise RuntimeError(
                "create_graph=True: there are no second derivatives of this layer on the CPU"
            )
        return backward(ctx, *gradients)

    return run

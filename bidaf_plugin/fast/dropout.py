from typing import NamedTuple

import torch

_LEVELS = 1 << 32


class Mask(NamedTuple):
    """
    What dropout drops, as one random number from which the kernels compute it, forward and again backward.
    torch draws on the CPU one number after the other for all elements, which takes a quarter of a training
    step.
    """

    seed: int
    num_dropped: int
    """Of `2 ** 32` numbers."""

    @classmethod
    def draw(cls, rate: float) -> "Mask":
        if rate == 0.0:
            return cls(0, 0)
        num_dropped = min(round(rate * _LEVELS), _LEVELS - 1)
        return cls(int(torch.randint(1 << 62, (1,))), num_dropped)

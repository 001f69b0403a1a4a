from typing import Any, NamedTuple

import torch

from bidaf_plugin.fast import native
from bidaf_plugin.fast.first_derivatives import first_derivatives_only

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


class Dropout(torch.nn.Dropout):
    """
    [Dropout](http://jmlr.org/papers/v15/srivastava14a.html), whose mask is not drawn and kept but computed
    from one random number.

    On other devices, and where the native kernels have not been built, it is `torch.nn.Dropout`.
    """

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        is_native = self.training and 0.0 < self.p < 1.0 and native.can_take(input)
        return _Drop.apply(input, Mask.draw(self.p)) if is_native else super().forward(input)


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input: torch.Tensor, mask: Mask) -> torch.Tensor:
        ctx.mask = mask
        return _drop(input, mask)

    @staticmethod
    @first_derivatives_only
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:  # type: ignore[override]
        return _drop(gradient, ctx.mask), None


def _drop(values: torch.Tensor, mask: Mask) -> torch.Tensor:
    values = values.contiguous()
    dropped = torch.empty_like(values)
    native.call("dropout", values.dtype, values, dropped, values.numel(), *mask)
    return dropped

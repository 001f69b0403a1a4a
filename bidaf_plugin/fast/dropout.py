from typing import Any

import torch

from bidaf_plugin.fast import native
from bidaf_plugin.fast.first_derivatives import first_derivatives_only

_LEVELS = 1 << 32


class Dropout(torch.nn.Dropout):
    """
    [Dropout](http://jmlr.org/papers/v15/srivastava14a.html), whose mask is not drawn and kept but computed
    from one random number, forward and again backward. torch draws on the CPU one number after the other
    for all elements, which takes a quarter of a training step.

    On other devices, and where the native kernels have not been built, it is `torch.nn.Dropout`.
    """

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        is_native = (
            self.training
            and 0.0 < self.p < 1.0
            and input.device.type == "cpu"
            and input.dtype in (torch.float32, torch.float64)
            and input.numel() > 0
            and native.library() is not None
        )
        return _Drop.apply(input, self.p) if is_native else super().forward(input)


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input: torch.Tensor, rate: float) -> torch.Tensor:
        ctx.seed = int(torch.randint(1 << 62, (1,)))
        ctx.num_dropped = min(round(rate * _LEVELS), _LEVELS - 1)
        return _drop(input, ctx.seed, ctx.num_dropped)

    @staticmethod
    @first_derivatives_only
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:  # type: ignore[override]
        return _drop(gradient, ctx.seed, ctx.num_dropped), None


def _drop(values: torch.Tensor, seed: int, num_dropped: int) -> torch.Tensor:
    values = values.contiguous()
    dropped = torch.empty_like(values)
    native.call("dropout", values.dtype, values, dropped, values.numel(), seed, num_dropped)
    return dropped

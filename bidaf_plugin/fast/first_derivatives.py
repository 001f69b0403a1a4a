from functools import wraps
from typing import Any, Callable

import torch


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

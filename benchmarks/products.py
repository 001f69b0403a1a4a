"""
How many floating-point operations the matrix products of a training step take.
"""

from math import prod
from typing import Any, Callable, Dict, Sequence

Shape = Sequence[int]


def count_product_flops(step: Callable[[], object]) -> Dict[str, int]:
    """
    Runs `step` and counts the operations (a multiplication and an addition are two) of the products
    that it really does, by the torch operator that does them.

    torch's own counter sees what the dispatcher runs, after autograd: products that are avoided are
    not counted, and those of the backward pass are, also inside of custom autograd functions. Added
    here is what it does not know:

    - oneDNN's LSTM layer, one operator for all time steps: what torch runs on CPU for sequences that
      are not packed. (Packed ones run as ordinary products, which are seen one by one.)
    - oneDNN's product of two matrices.
    - products in place and products with a vector.

    Work that is no product (softmax, dropout, gates, embeddings, optimizer) is not counted, so the
    share of the sgemm rate that follows from it is a lower bound of how busy the machine is.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    operators = torch.ops.aten
    formulas = {
        operators.mkldnn_rnn_layer: _lstm_flops,
        # The gradients of the weights take as many operations as the forward pass, and so do those
        # of the inputs and states; oneDNN always computes both.
        operators.mkldnn_rnn_layer_backward: lambda *shapes, **_: 2 * _lstm_flops(*shapes),
        torch.ops.mkldnn._linear_pointwise: lambda vectors, weight, *_, **__: (
            2 * prod(vectors) * weight[0]
        ),
        operators.addmm_: _product_of_matrices_flops,
        operators.baddbmm_: _product_of_matrices_flops,
        operators.addbmm: _product_of_matrices_flops,
        operators.addbmm_: _product_of_matrices_flops,
        operators.mv: lambda matrix, *_, **__: 2 * prod(matrix),
        operators.dot: lambda vector, *_, **__: 2 * prod(vector),
        operators.addmv: lambda _, matrix, *__, **___: 2 * prod(matrix),
        operators.addmv_: lambda _, matrix, *__, **___: 2 * prod(matrix),
    }
    with FlopCounterMode(display=False, custom_mapping=formulas) as counter:
        step()
    return {str(name): flops for name, flops in counter.get_flop_counts()["Global"].items()}


def _lstm_flops(
    inputs: Shape, input_weight: Shape, hidden_weight: Shape, *_: Any, **__: Any
) -> int:
    """
    One layer and one direction. `inputs` is (length, batch_size, input_size); each position of it is
    multiplied with both matrices.
    """
    return 2 * prod(inputs[:2]) * (prod(input_weight) + prod(hidden_weight))


def _product_of_matrices_flops(_: Shape, left: Shape, right: Shape, *__: Any, **___: Any) -> int:
    """`left` is (..., rows, inner) and `right` is (..., inner, columns)."""
    return 2 * prod(left) * right[-1]

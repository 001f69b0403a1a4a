from typing import Optional

import torch
from allennlp.modules.matrix_attention import MatrixAttention


@MatrixAttention.register("linear_after_mlp")
class LinearAfterMlpMatrixAttention(MatrixAttention):
    """
    The similarity "linear after MLP" of the appendix of
    [Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603):
    `alpha(h, u) = w^T tanh(W [h; u] + b)`, after
    [Hermann et al. (2015)](https://arxiv.org/abs/1506.03340).

    `W [h; u]` is `W_1 h + W_2 u`, so each side is projected once and no concatenation is made for the
    pairs. The other similarities of the paper are AllenNLP's: `linear` with the combination
    `"x,y,x*y"` (the default) or `"x,y"`, `dot_product`, `bilinear`.

    Registered as a `MatrixAttention` with name "linear_after_mlp".

    # Parameters

    tensor_1_dim : `int`
        The size of `h`.
    tensor_2_dim : `int`
        The size of `u`.
    hidden_dim : `int`, optional (default = `tensor_1_dim // 2`)
        The size of the hidden layer, of which the paper does not speak. Time and memory grow with it
        for every pair of words; the default is `d`.
    """

    def __init__(
        self, tensor_1_dim: int, tensor_2_dim: int, hidden_dim: Optional[int] = None
    ) -> None:
        super().__init__()
        if hidden_dim is None:
            hidden_dim = tensor_1_dim // 2
        self._matrix_1_projection = torch.nn.Linear(tensor_1_dim, hidden_dim)
        self._matrix_2_projection = torch.nn.Linear(tensor_2_dim, hidden_dim, bias=False)
        self._weight_vector = torch.nn.Parameter(torch.empty(hidden_dim))
        bound = (6 / (hidden_dim + 1)) ** 0.5
        torch.nn.init.uniform_(self._weight_vector, -bound, bound)

    def forward(self, matrix_1: torch.Tensor, matrix_2: torch.Tensor) -> torch.Tensor:
        """
        # Parameters

        matrix_1 : `torch.Tensor`
            Shape `(batch_size, num_rows_1, tensor_1_dim)`.
        matrix_2 : `torch.Tensor`
            Shape `(batch_size, num_rows_2, tensor_2_dim)`.

        # Returns

        `torch.Tensor`
            Shape `(batch_size, num_rows_1, num_rows_2)`.
        """
        # Shape: (batch_size, num_rows_1, 1, hidden_dim)
        projected_1 = self._matrix_1_projection(matrix_1).unsqueeze(2)
        # Shape: (batch_size, 1, num_rows_2, hidden_dim)
        projected_2 = self._matrix_2_projection(matrix_2).unsqueeze(1)
        # Shape: (batch_size, num_rows_1, num_rows_2)
        return torch.tanh(projected_1 + projected_2) @ self._weight_vector

import math

import pytest
import torch
from allennlp.common import Params
from allennlp.modules.matrix_attention import MatrixAttention

from bidaf_plugin.modules import LinearAfterMlpMatrixAttention


class TestLinearAfterMlpMatrixAttention:
    def test_values(self) -> None:
        similarity = LinearAfterMlpMatrixAttention(2, 1, hidden_dim=2)
        similarity._matrix_1_projection.weight.data = torch.tensor([[1.0, 0.0], [0.5, -1.0]])
        similarity._matrix_1_projection.bias.data = torch.tensor([0.0, 0.25])
        similarity._matrix_2_projection.weight.data = torch.tensor([[1.0], [-2.0]])
        similarity._weight_vector.data = torch.tensor([10.0, 1.0])
        # Two vectors h, and three vectors u.
        matrix_1 = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
        matrix_2 = torch.tensor([[[0.0], [1.0], [-1.0]]])
        # The first row: h = (1, 0), so W_1 h + b = (1, 0.75). The second: h = (0, 1), (0, -0.75).
        expected = [
            [
                10 * math.tanh(1) + math.tanh(0.75),
                10 * math.tanh(2) + math.tanh(-1.25),
                10 * math.tanh(0) + math.tanh(2.75),
            ],
            [
                10 * math.tanh(0) + math.tanh(-0.75),
                10 * math.tanh(1) + math.tanh(-2.75),
                10 * math.tanh(-1) + math.tanh(1.25),
            ],
        ]
        torch.testing.assert_close(similarity(matrix_1, matrix_2), torch.tensor([expected]))

    def test_it_is_a_perceptron_on_the_concatenation(self) -> None:
        torch.manual_seed(0)
        similarity = LinearAfterMlpMatrixAttention(6, 4)
        matrix_1, matrix_2 = torch.randn(2, 5, 6), torch.randn(2, 3, 4)
        pairs = torch.cat(
            [
                matrix_1.unsqueeze(2).expand(-1, -1, 3, -1),
                matrix_2.unsqueeze(1).expand(-1, 5, -1, -1),
            ],
            dim=-1,
        )
        weight = torch.cat(
            [similarity._matrix_1_projection.weight, similarity._matrix_2_projection.weight], dim=1
        )
        hidden = torch.tanh(pairs @ weight.T + similarity._matrix_1_projection.bias)
        torch.testing.assert_close(
            similarity(matrix_1, matrix_2), hidden @ similarity._weight_vector
        )

    @pytest.mark.parametrize("hidden_dim, expected", [(None, 4), (3, 3)])
    def test_the_hidden_layer_has_half_the_size_of_h_or_the_one_given(
        self, hidden_dim: int, expected: int
    ) -> None:
        params = {"type": "linear_after_mlp", "tensor_1_dim": 8, "tensor_2_dim": 6}
        if hidden_dim is not None:
            params["hidden_dim"] = hidden_dim
        similarity = MatrixAttention.from_params(Params(params))
        assert isinstance(similarity, LinearAfterMlpMatrixAttention)
        assert {name: tuple(value.shape) for name, value in similarity.named_parameters()} == {
            "_matrix_1_projection.weight": (expected, 8),
            "_matrix_1_projection.bias": (expected,),
            "_matrix_2_projection.weight": (expected, 6),
            "_weight_vector": (expected,),
        }
        assert similarity._weight_vector.abs().max() > 0

from typing import Iterator

import pytest
import torch

from bidaf_plugin.fast import products
from bidaf_plugin.fast.products import linear, multiply, multiply_transposed


@pytest.fixture(autouse=True, params=[True, False], ids=["onednn", "mkl"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    torch.manual_seed(0)
    monkeypatch.setattr(products, "is_onednn_faster", lambda: request.param)
    yield


def assert_equal(result: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(result, expected.to(result.dtype), atol=1e-4, rtol=1e-4)
    assert result.is_contiguous()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
class TestProducts:
    def test_linear(self, dtype: torch.dtype) -> None:
        vectors, bias = torch.randn(3, 4, 5, dtype=dtype), torch.randn(6, dtype=dtype)
        weights = torch.randn(6, 20, dtype=dtype)
        for weight in (
            weights[:, :5].contiguous(),
            weights.t()[:5].contiguous().t(),
            # A part of a matrix.
            weights[:, 5:10],
        ):
            expected = vectors.double() @ weight.double().t()
            assert_equal(linear(vectors, weight), expected)
            assert_equal(linear(vectors, weight, bias), expected + bias.double())

    def test_multiply(self, dtype: torch.dtype) -> None:
        left, right = torch.randn(7, 5, dtype=dtype), torch.randn(5, 3, dtype=dtype)
        assert_equal(multiply(left, right), left.double() @ right.double())

    @pytest.mark.parametrize("dims", [(3, 8), (8, 3)])
    def test_multiply_transposed(self, dtype: torch.dtype, dims: tuple[int, int]) -> None:
        left, right = (torch.randn(50, dim, dtype=dtype) for dim in dims)
        assert_equal(multiply_transposed(left, right), left.double().t() @ right.double())


def test_onednn_never_gets_a_part_of_a_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes seconds for what are milliseconds otherwise."""
    weights = []

    def spy(vectors: torch.Tensor, weight: torch.Tensor, *_: object) -> torch.Tensor:
        weights.append(weight)
        return vectors @ weight.t()

    monkeypatch.setattr(torch.ops.mkldnn, "_linear_pointwise", spy)
    linear(torch.randn(1, 8), torch.randn(8, 16)[:, 4:12])
    assert len(weights) == products.is_onednn_faster()
    assert all(weight.is_contiguous() or weight.t().is_contiguous() for weight in weights)

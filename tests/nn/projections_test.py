import pytest
import torch

from bidaf_plugin.nn import products
from bidaf_plugin.nn.projections import add_projection, add_scaled_projection, project


def test_it_is_the_sum_of_two_projections_with_its_gradients() -> None:
    torch.manual_seed(0)
    vectors, scales = torch.randn(6, 4, 5).double(), torch.randn(6, 1, 5).double()
    total = torch.randn(6, 4, 2).double()
    plain_weight, scaled_weight = torch.randn(2, 5).double(), torch.randn(2, 5).double()
    expected = total + vectors @ plain_weight.t() + (vectors * scales) @ scaled_weight.t()
    inputs = (total, vectors, scales, plain_weight, scaled_weight)
    torch.testing.assert_close(add_scaled_projection(total.clone(), *inputs[1:]), expected)
    torch.autograd.gradcheck(
        lambda total, *others: add_scaled_projection(total.clone(), *others),
        tuple(tensor.requires_grad_() for tensor in inputs),
    )


def test_adding_a_projection_with_its_gradients() -> None:
    torch.manual_seed(0)
    inputs = tuple(torch.randn(*size).double() for size in ((3, 4, 2), (3, 4, 5), (2, 5)))
    total, vectors, weight = inputs
    result = add_projection(total.clone(), vectors, weight)
    torch.testing.assert_close(result, total + vectors @ weight.t())
    torch.autograd.gradcheck(
        lambda total, *others: add_projection(total.clone(), *others),
        tuple(tensor.requires_grad_() for tensor in inputs),
    )


@pytest.mark.parametrize("has_bias", [True, False])
def test_a_projection_with_its_gradients(has_bias: bool) -> None:
    torch.manual_seed(0)
    vectors, weight, bias = (torch.randn(*size).double() for size in ((3, 4, 5), (2, 5), (2,)))
    inputs = (vectors, weight, bias) if has_bias else (vectors, weight)
    torch.testing.assert_close(project(*inputs), torch.nn.functional.linear(*inputs))
    torch.autograd.gradcheck(project, tuple(tensor.requires_grad_() for tensor in inputs))
    # Only what is wanted.
    for wanted in inputs:
        (gradient,) = torch.autograd.grad(project(*inputs).sum(), [wanted])
        assert gradient.shape == wanted.shape


@pytest.mark.parametrize("is_onednn_faster", [True, False])
def test_in_single_precision(is_onednn_faster: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "is_onednn_faster", lambda: is_onednn_faster)
    torch.manual_seed(0)
    sizes = ((3, 4, 7), (3, 4, 5), (3, 1, 5), (7,), (7, 5), (7, 5))
    inputs = [torch.randn(*size) for size in sizes]

    def gradients(dtype: torch.dtype) -> list[torch.Tensor]:
        total, vectors, scales, bias, *weights = (
            tensor.to(dtype, copy=True).requires_grad_() for tensor in inputs
        )
        result = add_projection(total.clone(), vectors, weights[1])
        result = result + project(vectors, weights[0], bias)
        result = add_scaled_projection(result, vectors, scales, *weights)
        wanted = [total, vectors, scales, bias, *weights]
        return [result, *torch.autograd.grad((result * result.detach().cos()).sum(), wanted)]

    for single, double in zip(gradients(torch.float32), gradients(torch.float64), strict=True):
        torch.testing.assert_close(single, double.float(), atol=1e-4, rtol=1e-4)


def test_second_derivatives_are_refused_and_not_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "is_onednn_faster", lambda: True)
    vectors, weight = torch.randn(1, 2, 3, requires_grad=True), torch.randn(4, 3)
    total = torch.zeros(1, 2, 4)
    for result in (
        project(vectors, weight),
        add_projection(total, vectors, weight),
        add_scaled_projection(total, vectors, torch.ones(1, 1, 3), weight, weight),
    ):
        with pytest.raises(RuntimeError, match="no second derivatives"):
            torch.autograd.grad(result.sum(), [vectors], create_graph=True)


def test_mixed_precision_is_left_to_torch() -> None:
    vectors, weight, scales = torch.randn(2, 3, 4), torch.randn(5, 4), torch.randn(2, 1, 4)
    with torch.autocast("cpu", torch.bfloat16):
        projected = project(vectors, weight)
        assert projected.dtype == torch.bfloat16
        for result in (
            add_projection(projected, vectors, weight),
            add_scaled_projection(projected, vectors, scales, weight, weight),
        ):
            assert result.shape == projected.shape

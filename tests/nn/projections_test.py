import torch

from bidaf_plugin.nn.projections import add_projection, add_scaled_projection


def test_it_is_the_sum_of_two_projections_with_its_gradients() -> None:
    torch.manual_seed(0)
    # More passages than are done at once.
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

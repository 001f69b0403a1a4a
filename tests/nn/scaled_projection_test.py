import torch

from bidaf_plugin.nn.scaled_projection import project_scaled


def test_it_is_the_sum_of_two_projections_with_its_gradients() -> None:
    torch.manual_seed(0)
    vectors, scales = torch.randn(3, 4, 5).double(), torch.randn(3, 1, 5).double()
    plain_weight, scaled_weight = torch.randn(2, 5).double(), torch.randn(2, 5).double()
    expected = vectors @ plain_weight.t() + (vectors * scales) @ scaled_weight.t()
    inputs = (vectors, scales, plain_weight, scaled_weight)
    torch.testing.assert_close(project_scaled(*inputs), expected)
    torch.autograd.gradcheck(project_scaled, tuple(tensor.requires_grad_() for tensor in inputs))

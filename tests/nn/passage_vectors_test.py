from typing import Callable, Optional

import pytest
import torch

from bidaf_plugin.modules.fast_dropout import FastDropout
from bidaf_plugin.modules.fusion.fused_vectors import FusedVectors
from bidaf_plugin.modules.output_layers.summarized_vectors import SummarizedVectors
from bidaf_plugin.nn.passage_vectors import (
    JoinedVectors,
    PassageVectors,
    RepeatedVectors,
    WholeVectors,
)

PASSAGE = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0))
QUESTION = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(1))
ATTENTION = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(2)).softmax(dim=-1)
POSITIONS = torch.tensor([[0, 3, 3, 1], [4, 4, 0, 0]])
SUMMARY = torch.randn(2, 1, 3, generator=torch.Generator().manual_seed(3))


def make_fused(summary: Optional[torch.Tensor] = SUMMARY) -> PassageVectors:
    return FusedVectors(PASSAGE, QUESTION, ATTENTION, summary)


KINDS = {
    "whole": lambda: WholeVectors(PASSAGE),
    "repeated": lambda: RepeatedVectors(PASSAGE[0], POSITIONS),
    "fused": make_fused,
    "fused_without_query_to_context": lambda: make_fused(None),
    "summarized": lambda: SummarizedVectors(PASSAGE, SUMMARY),
    "joined": lambda: JoinedVectors([make_fused(), SummarizedVectors(PASSAGE, SUMMARY)], 12),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())
class TestPassageVectors:
    @pytest.mark.parametrize("output_dim", [1, 7])
    @pytest.mark.parametrize("dropped", [False, True])
    def test_the_projection_is_that_of_the_whole(
        self, make: Callable[[], PassageVectors], output_dim: int, dropped: bool
    ) -> None:
        torch.manual_seed(0)
        vectors = make()
        if dropped:
            vectors = vectors.drop(FastDropout(0.5))
        weight = torch.randn(output_dim, vectors.whole().size(-1), requires_grad=True)
        bias = torch.randn(output_dim)
        projected = vectors.project(weight, bias)
        expected = vectors.whole() @ weight.t() + bias
        torch.testing.assert_close(projected, expected)
        (gradient,) = torch.autograd.grad(projected.square().sum(), weight)
        (expected_gradient,) = torch.autograd.grad(expected.square().sum(), weight)
        torch.testing.assert_close(gradient, expected_gradient)

    def test_dropout_keeps_the_mean_of_every_element(
        self, make: Callable[[], PassageVectors]
    ) -> None:
        torch.manual_seed(0)
        dropout = FastDropout(0.2)
        mean = sum(make().drop(dropout).whole() for _ in range(4000)) / 4000
        torch.testing.assert_close(mean, make().whole(), atol=0.12, rtol=0.0)
        assert not torch.equal(make().drop(dropout).whole(), make().whole())


def test_values() -> None:
    attended_question = ATTENTION @ QUESTION
    expected = torch.cat(
        [PASSAGE, attended_question, PASSAGE * attended_question, PASSAGE * SUMMARY], dim=-1
    )
    torch.testing.assert_close(make_fused().whole(), expected)
    repeated = RepeatedVectors(PASSAGE[0], POSITIONS)
    assert torch.equal(repeated.whole()[0, 1], PASSAGE[0, 3])
    assert repeated.drop(FastDropout(0.5).eval()) is repeated
    expected = torch.cat([PASSAGE, SUMMARY.expand(2, 5, 3), PASSAGE * SUMMARY], dim=-1)
    torch.testing.assert_close(SummarizedVectors(PASSAGE, SUMMARY).whole(), expected)

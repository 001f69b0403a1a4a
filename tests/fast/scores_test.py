from typing import List

import pytest
import torch

from bidaf_plugin.fast import native
from bidaf_plugin.fast.native import DropoutMask
from bidaf_plugin.fast.scores import can_run, score
from tests.native import native_only

pytestmark = native_only


class TestScore:
    def setup_method(self) -> None:
        torch.manual_seed(0)
        self.scorer = torch.nn.Linear(700, 1).double()
        sizes = (600, 100)
        self.terms = [torch.randn(3, 4, s, dtype=torch.double, requires_grad=True) for s in sizes]

    def run(self, *terms: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(1)
        return score(self.scorer, terms, 0.5)

    def factors(self) -> torch.Tensor:
        """What the seed of `run` multiplies the vectors with: the scores of one number after the other."""
        torch.manual_seed(1)
        mask, factors = DropoutMask.draw(0.5), torch.zeros(3, 4, 700, dtype=torch.double)
        ones = torch.ones(3, 4, 1, dtype=torch.double)
        for column in range(700):
            scores = torch.zeros(3, 4, dtype=torch.double)
            # The distances of passages and of words, the size and the column.
            arguments = (ones, ones, scores, 4, 1, 1, column, 3, 4, *mask)
            native.call("score", scores.dtype, *arguments)
            factors[..., column] = scores
        return factors

    def gradients(self, scores: torch.Tensor) -> List[torch.Tensor]:
        weighting = torch.arange(12.0, dtype=torch.double).view(3, 4)
        wanted = [*self.terms, *self.scorer.parameters()]
        return list(torch.autograd.grad((scores * weighting).sum(), wanted))

    def test_values_and_gradients_are_those_of_the_dropped_concatenation(
        self, kept_num_threads: None
    ) -> None:
        factors = self.factors()
        assert set(factors.unique().tolist()) == {0.0, 2.0}
        expected = self.scorer(torch.cat(self.terms, dim=-1) * factors).squeeze(-1)
        for num_threads in (1, 2, 5):
            torch.set_num_threads(num_threads)
            scores = self.run(*self.terms)
            torch.testing.assert_close(scores, expected)
            expected_gradients = self.gradients(
                self.scorer(torch.cat(self.terms, dim=-1) * factors).squeeze(-1)
            )
            for ours, theirs in zip(self.gradients(scores), expected_gradients, strict=True):
                torch.testing.assert_close(ours, theirs)

    def test_without_dropout_it_is_the_linear_layer(self) -> None:
        expected = self.scorer(torch.cat(self.terms, dim=-1)).squeeze(-1)
        torch.testing.assert_close(score(self.scorer, self.terms, 0.0), expected)

    def test_gradients_are_those_of_finite_differences(self) -> None:
        self.scorer = torch.nn.Linear(5, 1).double()
        terms = [
            term[..., :size].detach().requires_grad_()
            for term, size in zip(self.terms, (3, 2), strict=True)
        ]
        assert torch.autograd.gradcheck(
            lambda *tensors: self.run(*tensors[:2]), (*terms, *self.scorer.parameters())
        )

    def test_a_word_alone_has_the_same_score_to_the_last_bit(self) -> None:
        scorer, terms = self.scorer.float(), [term.detach().float() for term in self.terms]
        together = score(scorer, terms, 0.0)
        alone = score(scorer, [term[1:2, 2:3] for term in terms], 0.0)
        assert torch.equal(alone[0, 0], together[1, 2])

    def test_two_backward_passes_give_twice_the_gradient(self) -> None:
        output = self.run(*self.terms).sum()
        output.backward(retain_graph=True)
        once = self.scorer.weight.grad.clone()  # type: ignore[union-attr]
        output.backward()
        torch.testing.assert_close(self.scorer.weight.grad, 2 * once)

    def test_second_derivatives_are_refused_and_not_wrong(self) -> None:
        with pytest.raises(RuntimeError, match="no second derivatives"):
            torch.autograd.grad(self.run(*self.terms).sum(), self.terms, create_graph=True)

    def test_other_types_are_for_torch(self) -> None:
        assert can_run(self.terms[0])
        assert not can_run(self.terms[0].half())
        assert not can_run(torch.zeros(0, 4, 3))

from typing import List, Tuple

import pytest
import torch

from bidaf_plugin.fast import dynamic_attention
from bidaf_plugin.fast.products import mixed_precision, multiplies_bfloat16
from bidaf_plugin.modules.seq2seq_encoders import (
    DynamicAttentionEncoder,
    dynamic_attention_encoder,
)
from tests.native import native_only

pytestmark = native_only


class TestDynamicAttention:
    def setup_method(self) -> None:
        torch.manual_seed(0)
        self.encoder = DynamicAttentionEncoder(6, 3, num_layers=2).double()
        self.passage, self.question = (
            torch.randn(3, length, 6, dtype=torch.double, requires_grad=True) for length in (7, 5)
        )
        self.mask = torch.arange(7).unsqueeze(0) < torch.tensor([[7], [4], [1]])
        self.question_mask = torch.arange(5).unsqueeze(0) < torch.tensor([[3], [5], [1]])

    def run(self) -> torch.Tensor:
        return self.encoder(self.passage, self.mask, self.question, self.question_mask)

    def run_with_gradients(self) -> Tuple[torch.Tensor, List[torch.Tensor]]:
        outputs = self.run()
        weighting = torch.arange(outputs.numel(), dtype=outputs.dtype).view_as(outputs).sin()
        wanted = [self.passage, self.question, *self.encoder.parameters()]
        return outputs, list(torch.autograd.grad((outputs * weighting).sum(), wanted))

    def run_plain(self, monkeypatch: pytest.MonkeyPatch) -> Tuple[torch.Tensor, List[torch.Tensor]]:
        with monkeypatch.context() as patch:
            patch.setattr(dynamic_attention_encoder, "dynamic_attention", None)
            return self.run_with_gradients()

    def test_values_and_gradients_are_those_of_the_plain_layer(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        outputs, gradients = self.run_with_gradients()
        plain_outputs, plain_gradients = self.run_plain(monkeypatch)
        torch.testing.assert_close(outputs, plain_outputs)
        for ours, theirs in zip(gradients, plain_gradients, strict=True):
            torch.testing.assert_close(ours, theirs)

    def test_gradients_with_dropout_are_those_of_finite_differences(self) -> None:
        self.encoder = DynamicAttentionEncoder(6, 3, 1, dropout=0.4).double()

        def run(passage: torch.Tensor, question: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
            torch.manual_seed(1)
            return self.encoder(passage, self.mask, question, self.question_mask)

        tensors = (self.passage, self.question, *self.encoder.parameters())
        assert torch.autograd.gradcheck(run, tensors)

    def test_dropout_keeps_the_mean(self) -> None:
        inputs = torch.zeros(40, 30, 6)
        factors = dynamic_attention.factors_of_dropout(
            dynamic_attention.DropoutMask.draw(0.25), inputs
        )
        assert factors.shape == (40, 30, 24)
        torch.testing.assert_close(factors.unique(), torch.tensor([0.0, 1 / 0.75]))
        assert factors.mean().item() == pytest.approx(1.0, abs=0.02)

    @pytest.mark.skipif(not multiplies_bfloat16(), reason="the processor has no such products")
    def test_mixed_precision_gives_nearly_the_same(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.encoder.float()
        self.passage, self.question = (
            text.detach().float().requires_grad_() for text in (self.passage, self.question)
        )
        with mixed_precision():
            outputs, gradients = self.run_with_gradients()
        plain_outputs, plain_gradients = self.run_plain(monkeypatch)
        torch.testing.assert_close(outputs, plain_outputs, atol=0.01, rtol=0.01)
        for ours, theirs in zip(gradients, plain_gradients, strict=True):
            assert (ours - theirs).norm() < 0.02 * theirs.norm() + 0.01

    def test_second_derivatives_are_refused_and_not_wrong(self) -> None:
        with pytest.raises(RuntimeError, match="no second derivatives"):
            torch.autograd.grad(self.run().sum(), [self.passage], create_graph=True)

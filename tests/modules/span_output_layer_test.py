from typing import Any

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from bidaf_plugin.modules import UnpackedLstmEncoder
from bidaf_plugin.modules.output_layers import SpanOutputLayer
from bidaf_plugin.nn.passage_vectors import WholeVectors
from tests.helpers import without_onednn


def make_layer(**choices: Any) -> SpanOutputLayer:
    torch.manual_seed(0)
    end_input_dim = 4 if choices.get("end_input") == "paper_text" else 8 + 3 * 4
    return SpanOutputLayer(8, 4, UnpackedLstmEncoder(end_input_dim, 2), **choices)


class TestSpanOutputLayer:
    def setup_method(self) -> None:
        torch.manual_seed(0)
        self.query_aware = WholeVectors(torch.randn(2, 6, 8))
        self.modeled = torch.randn(2, 6, 4)
        self.mask = torch.arange(6).unsqueeze(0) < torch.tensor([[6], [4]])

    @pytest.mark.parametrize("end_input", ["authors_code", "paper_text"])
    def test_loss_is_the_sum_of_both_negative_log_probabilities(self, end_input: str) -> None:
        layer = make_layer(end_input=end_input).eval()
        spans = torch.tensor([[[1, 2], [3, 3]], [[0, 3], [-1, -1]]])
        output = layer(self.query_aware, self.modeled, self.mask, answer_spans=spans)
        start, end = output["span_start_log_probs"], output["span_end_log_probs"]
        expected = -(start[0, 1] + end[0, 2] + start[1, 0] + end[1, 3]) / 2
        torch.testing.assert_close(output["loss"], expected)
        torch.testing.assert_close(start.exp().sum(dim=1), torch.ones(2))
        assert not start.exp()[1, 4:].any()

    def test_confidence_is_the_probability_of_the_best_span(self) -> None:
        output = make_layer().eval()(self.query_aware, self.modeled, self.mask)
        first, last = output["best_span"][0].tolist()
        expected = (
            output["span_start_log_probs"][0, first] + output["span_end_log_probs"][0, last]
        ).exp()
        torch.testing.assert_close(output["confidence"][0], expected)
        assert "loss" not in output

    def test_max_answer_length(self) -> None:
        spans = make_layer(max_answer_length=1).eval()(self.query_aware, self.modeled, self.mask)
        assert all(first == last for first, last in spans["best_span"].tolist())

    def test_a_drawn_target_is_one_of_the_answers(self) -> None:
        layer = make_layer(training_target="drawn", dropout=0.0).train()
        spans = torch.tensor([[[1, 2], [3, 3]], [[0, 3], [-1, -1]]])
        losses = {
            round(layer(self.query_aware, self.modeled, self.mask, spans)["loss"].item(), 5)
            for _ in range(40)
        }
        expected = set()
        for first in ([1, 2], [3, 3]):
            target = torch.tensor([[first], [[0, 3]]])
            layer.eval()
            loss = layer(self.query_aware, self.modeled, self.mask, target)["loss"].item()
            expected.add(round(loss, 5))
        assert losses == expected and len(losses) == 2

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_half_precision_gives_finite_numbers(self, dtype: torch.dtype) -> None:
        layer = make_layer().eval().to(dtype)
        with without_onednn():
            output = layer(
                WholeVectors(100 * self.query_aware.whole().to(dtype)),
                100 * self.modeled.to(dtype),
                self.mask,
                torch.tensor([[[1, 2]], [[0, 3]]]),
            )
        assert torch.isfinite(output["loss"])
        assert torch.isfinite(output["confidence"]).all()

    def test_choices_that_do_not_exist_are_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="'magic'.*authors_code, paper_text"):
            make_layer(end_input="magic")
        with pytest.raises(ConfigurationError, match="1 or more"):
            make_layer(max_answer_length=0)

    def test_an_end_encoder_of_another_size_is_refused_with_both_numbers(self) -> None:
        with pytest.raises(ConfigurationError, match="end_encoder.*20.*9|end_encoder.*9.*20"):
            SpanOutputLayer(8, 4, UnpackedLstmEncoder(9, 2))

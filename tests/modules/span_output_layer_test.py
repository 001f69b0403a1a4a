from typing import Any, Optional

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token

from bidaf_plugin.modules import UnpackedLstmEncoder
from bidaf_plugin.modules.output_layers import SpanOutputLayer
from tests.helpers import without_onednn


def make_layer(**choices: Any) -> SpanOutputLayer:
    torch.manual_seed(0)
    end_input_dim = 4 if choices.get("end_input") == "paper_text" else 8 + 3 * 4
    return SpanOutputLayer(8, 4, UnpackedLstmEncoder(end_input_dim, 2), **choices)


class TestSpanOutputLayer:
    def setup_method(self) -> None:
        torch.manual_seed(0)
        self.query_aware = torch.randn(2, 6, 8)
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

    @pytest.mark.parametrize("choices", [{}, {"no_answer": True}, {"training_target": "drawn"}])
    def test_a_training_batch_without_answers_has_a_loss_of_zero(self, choices: Any) -> None:
        layer = make_layer(**choices).train()
        spans = torch.full((2, 1, 2), -1)
        loss = layer(self.query_aware, self.modeled, self.mask, answer_spans=spans)["loss"]
        assert loss.item() == 0
        loss.backward()
        for name, parameter in layer.named_parameters():
            assert parameter.grad is not None and not parameter.grad.any(), name
        assert "loss" not in layer.eval()(self.query_aware, self.modeled, self.mask, spans)

    def test_impossible_questions_alone_are_learned_if_there_is_a_score_for_them(self) -> None:
        spans = torch.full((2, 1, 2), -2)
        losses = [
            make_layer(no_answer=no_answer)
            .train()(self.query_aware, self.modeled, self.mask, spans)["loss"]
            .item()
            for no_answer in (False, True)
        ]
        assert losses[0] == 0
        assert losses[1] > 0

    def test_a_question_without_an_answer_counts_as_often_as_its_weight_says(self) -> None:
        spans = torch.tensor([[[1, 2]], [[-2, -2]]])
        losses = [
            make_layer(no_answer=True, no_answer_weight=weight)
            .eval()(self.query_aware[rows], self.modeled[rows], self.mask[rows], spans[rows])[
                "loss"
            ]
            .item()
            for rows, weight in (([0], 3.0), ([1], 3.0), ([0, 1], 3.0), ([0, 1], 1.0))
        ]
        assert losses[2] == pytest.approx((losses[0] + 3 * losses[1]) / (1 + 3))
        assert losses[3] == pytest.approx((losses[0] + losses[1]) / 2)

    def test_the_score_of_no_answer_can_depend_on_the_passage(self) -> None:
        plain, layer = (
            make_layer(no_answer=True, no_answer_summary=is_so).eval() for is_so in (False, True)
        )
        output, plain_output = (
            each(self.query_aware, self.modeled, self.mask) for each in (layer, plain)
        )
        assert torch.equal(plain_output["no_answer_logits"][0], plain_output["no_answer_logits"][1])
        start_probs = output["span_start_logits"].softmax(dim=-1)
        summary = (start_probs.unsqueeze(-1) * self.modeled).sum(dim=1)
        assert layer._no_answer_scorers is not None
        scorer: Any = layer._no_answer_scorers[0]
        first, _, last = scorer
        expected = torch.relu(summary @ first.weight.t() + first.bias) @ last.weight.t()
        torch.testing.assert_close(output["no_answer_logits"][:, :1], expected)
        # Of padding nothing comes in.
        alone = layer(self.query_aware[1:, :4], self.modeled[1:, :4], self.mask[1:, :4])
        torch.testing.assert_close(alone["no_answer_logits"], output["no_answer_logits"][1:])

    def test_scores_of_no_answer_that_cannot_be_are_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="no_answer_summary needs `no_answer: true`"):
            make_layer(no_answer_summary=True)
        with pytest.raises(ConfigurationError, match="no_answer_weight must be larger than 0"):
            make_layer(no_answer=True, no_answer_weight=0)

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_half_precision_gives_finite_numbers(self, dtype: torch.dtype) -> None:
        layer = make_layer().eval().to(dtype)
        with without_onednn():
            output = layer(
                100 * self.query_aware.to(dtype),
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

    def test_log_probabilities_are_the_softmax_of_the_logits(self) -> None:
        output = make_layer().eval()(self.query_aware, self.modeled, self.mask)
        for side in ("start", "end"):
            logits, log_probs = output[f"span_{side}_logits"], output[f"span_{side}_log_probs"]
            assert logits.dtype == torch.float32
            torch.testing.assert_close(logits[1, :4].log_softmax(dim=0), log_probs[1, :4])
            assert (logits[1, 4:] == torch.finfo(torch.float32).min).all()

    @pytest.mark.parametrize("no_answer", [False, True])
    @pytest.mark.parametrize("temperature", [0.5, 3.0])
    def test_temperature(self, temperature: float, no_answer: bool) -> None:
        plain = make_layer(no_answer=no_answer).eval()
        tempered = make_layer(no_answer=no_answer, temperature=temperature).eval()
        assert plain.state_dict().keys() == tempered.state_dict().keys()
        expected = plain(self.query_aware, self.modeled, self.mask)
        output = tempered(self.query_aware, self.modeled, self.mask)
        for side in ("start", "end"):
            # The logits of the end, too, are divided and not otherwise changed.
            logits = expected[f"span_{side}_logits"] / temperature
            found = output[f"span_{side}_logits"]
            torch.testing.assert_close(found[self.mask], logits[self.mask])
            assert (found[~self.mask] == torch.finfo(torch.float32).min).all()
            assert torch.isfinite(output[f"span_{side}_log_probs"]).all()
        assert torch.equal(output["best_span"], expected["best_span"])
        assert not torch.equal(output["confidence"], expected["confidence"])
        spans = torch.tensor([[[1, 2]], [[0, 3]]])
        losses = [
            layer.train()(self.query_aware, self.modeled, self.mask, spans)["span_end_logits"]
            for layer in (make_layer(dropout=0.0), make_layer(dropout=0.0, temperature=temperature))
        ]
        # Training knows nothing of it.
        assert torch.equal(*losses)
        with pytest.raises(ConfigurationError, match="temperature must be larger than 0"):
            make_layer(temperature=0.0)


class TestNoAnswer:
    def setup_method(self) -> None:
        TestSpanOutputLayer.setup_method(self)  # type: ignore[arg-type]
        self.query_aware: torch.Tensor
        self.modeled: torch.Tensor
        self.mask: torch.Tensor

    def make_layer(self, start: float, end: float, **choices: Any) -> SpanOutputLayer:
        layer = make_layer(no_answer=True, **choices).eval()
        assert layer._no_answer_logits is not None
        with torch.no_grad():
            layer._no_answer_logits.copy_(torch.tensor([start, end]))
        return layer

    def test_only_models_that_ask_for_it_have_it(self) -> None:
        without, with_score = make_layer(), make_layer(no_answer=True)
        assert set(with_score.state_dict()) - set(without.state_dict()) == {"_no_answer_logits"}
        output = without.eval()(self.query_aware, self.modeled, self.mask)
        assert not [name for name in output if "no_answer" in name]

    def test_is_one_more_outcome_of_both_softmaxes(self) -> None:
        output = self.make_layer(0.3, -0.4)(self.query_aware, self.modeled, self.mask)
        none = torch.ones(2)
        for side, logit in (("start", 0.3), ("end", -0.4)):
            # Shape: (batch_size, passage_length + 1)
            logits = torch.cat([output[f"span_{side}_logits"], torch.full((2, 1), logit)], dim=1)
            probs = logits.softmax(dim=1)
            torch.testing.assert_close(output[f"span_{side}_log_probs"].exp(), probs[:, :-1])
            none = none * probs[:, -1]
        torch.testing.assert_close(output["no_answer_probability"], none)
        torch.testing.assert_close(output["no_answer_logits"], torch.tensor([[0.3, -0.4]] * 2))

    def test_loss_of_questions_that_cannot_be_answered(self) -> None:
        layer = self.make_layer(0.3, -0.4)
        # The second cannot be answered, and of a third nothing is known.
        query_aware = torch.cat([self.query_aware, torch.randn(1, 6, 8)])
        modeled = torch.cat([self.modeled, torch.randn(1, 6, 4)])
        mask = torch.cat([self.mask, self.mask[:1]])
        spans = torch.tensor([[[1, 2], [3, 3]], [[-2, -2], [-1, -1]], [[-1, -1], [-1, -1]]])
        output = layer(query_aware, modeled, mask, spans)
        log_probs = output["span_start_log_probs"], output["span_end_log_probs"]
        expected = -(log_probs[0][0, 1] + log_probs[1][0, 2])
        expected = expected - output["no_answer_probability"][1].log()
        torch.testing.assert_close(output["loss"], expected / 2)
        for target in ("first", "drawn"):
            layer = make_layer(no_answer=True, training_target=target, dropout=0.0).train()
            loss = layer(query_aware, modeled, mask, spans[1:2].expand(3, -1, -1))["loss"]
            loss.backward()
            assert layer._no_answer_logits is not None
            gradient = layer._no_answer_logits.grad
            assert gradient is not None and gradient.all()

    def test_without_the_score_such_questions_do_not_count(self) -> None:
        layer = make_layer().eval()
        spans = torch.tensor([[[1, 2]], [[-2, -2]]])
        loss = layer(self.query_aware, self.modeled, self.mask, spans)["loss"]
        spans[1] = -1
        unknown = layer(self.query_aware, self.modeled, self.mask, spans)["loss"]
        assert torch.equal(loss, unknown)
        spans[:] = -2
        assert "loss" not in layer(self.query_aware, self.modeled, self.mask, spans)

    @pytest.mark.parametrize(
        "logit, threshold, wins",
        [(20.0, None, True), (-20.0, None, False), (20.0, 1.5, False), (-20.0, 0.0, True)],
    )
    def test_wins_over_the_best_span_or_over_a_threshold(
        self, logit: float, threshold: Optional[float], wins: bool
    ) -> None:
        layer = self.make_layer(logit, logit, no_answer_threshold=threshold)
        output = layer(self.query_aware, self.modeled, self.mask)
        assert (output["best_span"] == -2).all() == wins
        assert (output["confidence"] == output["no_answer_probability"]).all() == wins
        tokens = [Token("x", index, index + 1) for index in range(6)]
        item = {"id": "a", "passage": "xxxxxx", "passage_tokens": tokens, "answers": []}
        readable = layer.make_output_human_readable(output, [item] * 2)
        for column in ("best_span", "best_span_characters"):
            assert [value is None for value in readable[column]] == [wins] * 2
        assert [text == "" for text in readable["best_span_str"]] == [wins] * 2
        assert readable["no_answer_probability"] == output["no_answer_probability"].tolist()

    def test_a_threshold_needs_the_score(self) -> None:
        with pytest.raises(ConfigurationError, match="trained with `no_answer: true`"):
            make_layer(no_answer_threshold=0.5)
        with pytest.raises(ConfigurationError, match="a probability, not 'x'"):
            make_layer(no_answer=True, no_answer_threshold="x")

"""
From scores of tokens to probabilities, `p1` and `p2`, and from these to answers.
"""

from typing import Any, Dict, List, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.nn import util

from bidaf_plugin.modules.output_layers.span_targets import IMPOSSIBLE_TOKEN
from bidaf_plugin.nn.spans import best_span
from bidaf_plugin.runtime.ranking import no_answer_wins


class TokenSoftmax:
    """
    The distribution of the first or of the last token of the answer, `p1` or `p2`. In single
    precision at least: half precision cannot hold small probabilities.

    # Parameters

    logits : `torch.Tensor`
        Shape `(batch_size, passage_length)`.
    mask : `torch.BoolTensor`
        Shape `(batch_size, passage_length)`.
    no_answer_logits : `torch.Tensor`, optional (default = `None`)
        Shape `(batch_size,)`: one more outcome, that there is no answer.

    # Attributes

    logits, log_probs : `torch.Tensor`
        Shape `(batch_size, passage_length)`; the smallest value of the type at padding.
    no_answer_logits, no_answer_log_probs : `torch.Tensor`
        Shape `(batch_size,)`. Not there without the further outcome.
    """

    no_answer_logits: torch.Tensor
    no_answer_log_probs: torch.Tensor

    def __init__(
        self,
        logits: torch.Tensor,
        mask: torch.Tensor,
        no_answer_logits: Optional[torch.Tensor] = None,
    ) -> None:
        logits = _at_least_single(logits)
        lowest = util.min_value_of_dtype(logits.dtype)
        self._mask = mask
        self._has_no_answer = no_answer_logits is not None
        self.logits = logits.masked_fill(~mask, lowest)
        outcomes = self.logits
        if no_answer_logits is not None:
            self.no_answer_logits = _at_least_single(no_answer_logits)
            # Shape: (batch_size, passage_length + 1)
            outcomes = torch.cat([outcomes, self.no_answer_logits.unsqueeze(1)], dim=1)
        outcomes = outcomes.log_softmax(dim=-1)
        if no_answer_logits is not None:
            outcomes, self.no_answer_log_probs = outcomes[:, :-1], outcomes[:, -1]
        self.log_probs = outcomes.masked_fill(~mask, lowest)

    def at_temperature(self, temperature: float) -> "TokenSoftmax":
        """The softmax of all logits divided by a number."""
        no_answer_logits = self.no_answer_logits / temperature if self._has_no_answer else None
        return TokenSoftmax(self.logits / temperature, self._mask, no_answer_logits)


def _at_least_single(values: torch.Tensor) -> torch.Tensor:
    return values.float() if values.dtype.itemsize < 4 else values


class SpanDecoder:
    """
    Makes answers of `p1` and `p2`. What it is told may be changed after training.

    # Parameters

    no_answer : `bool`
        Whether `p1` and `p2` have the further outcome that there is no answer.

    # Attributes

    max_answer_length : `int`
        In tokens; None for no limit.
    no_answer_threshold : `float`
        The probability of no answer above which it is the answer; None for that of the best span.
    """

    def __init__(self, no_answer: bool) -> None:
        self._no_answer = no_answer
        self.max_answer_length: Optional[int] = None
        self.no_answer_threshold: Optional[float] = None

    def set_max_answer_length(self, max_answer_length: Optional[int]) -> None:
        """Changes the largest number of tokens of an answer; None for no limit."""
        if max_answer_length is not None and not (
            isinstance(max_answer_length, int) and max_answer_length >= 1
        ):
            raise ConfigurationError(
                f"max_answer_length must be a number of tokens, 1 or more, not {max_answer_length!r}"
            )
        self.max_answer_length = max_answer_length

    def set_no_answer_threshold(self, no_answer_threshold: Optional[float]) -> None:
        """Changes the threshold; None for the probability of the best span."""
        if no_answer_threshold is not None and not self._no_answer:
            raise ConfigurationError(
                "no_answer_threshold needs a model that was trained with `no_answer: true`"
            )
        if no_answer_threshold is not None and not isinstance(no_answer_threshold, (int, float)):
            raise ConfigurationError(
                f"no_answer_threshold must be a probability, not {no_answer_threshold!r}"
            )
        self.no_answer_threshold = no_answer_threshold

    def decode(self, start: TokenSoftmax, end: TokenSoftmax) -> Dict[str, torch.Tensor]:
        """What `SpanOutputLayer` returns, but for the loss."""
        # Shape: (batch_size, 2) and (batch_size,)
        best_spans, scores = best_span(start.log_probs, end.log_probs, self.max_answer_length)
        output_dict = {
            "span_start_logits": start.logits,
            "span_end_logits": end.logits,
            "span_start_log_probs": start.log_probs,
            "span_end_log_probs": end.log_probs,
            "best_span": best_spans,
            "confidence": scores.exp(),
        }
        if self._no_answer:
            # Shape: (batch_size, 2) for both
            logits = torch.stack([start.no_answer_logits, end.no_answer_logits], dim=1)
            log_probs = torch.stack([start.no_answer_log_probs, end.no_answer_log_probs], dim=1)
            # Shape: (batch_size,) for both
            probability, confidence = log_probs.sum(dim=1).exp(), output_dict["confidence"]
            wins = no_answer_wins(probability, confidence, self.no_answer_threshold)
            output_dict.update(
                no_answer_logits=logits,
                no_answer_log_probs=log_probs,
                no_answer_probability=probability,
                best_span=best_spans.masked_fill(wins.unsqueeze(1), IMPOSSIBLE_TOKEN),
                confidence=torch.where(wins, probability, confidence),
            )
        return output_dict

    def make_readable(
        self, output_dict: Dict[str, torch.Tensor], metadata: List[Dict[str, Any]]
    ) -> Dict[str, Any]:
        """What `SpanOutputLayer.make_output_human_readable` returns."""
        spans = [
            span if span[0] != IMPOSSIBLE_TOKEN else None
            for span in output_dict["best_span"].tolist()
        ]
        characters = [
            span and [item["passage_tokens"][span[0]].idx, item["passage_tokens"][span[1]].idx_end]
            for span, item in zip(spans, metadata, strict=True)
        ]
        readable = {
            "id": [item["id"] for item in metadata],
            "best_span_str": [
                item["passage"][slice(*ends)] if ends else ""
                for ends, item in zip(characters, metadata, strict=True)
            ],
            "best_span": spans,
            "best_span_characters": characters,
            "confidence": output_dict["confidence"].tolist(),
        }
        if self._no_answer:
            readable["no_answer_probability"] = output_dict["no_answer_probability"].tolist()
        return readable

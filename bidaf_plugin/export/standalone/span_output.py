from typing import Any, Dict, List, NamedTuple, Optional

import torch

from bidaf_plugin.export.standalone.encoders import Encoder
from bidaf_plugin.export.standalone.tensors import Tensors, linear, part
from bidaf_plugin.nn.spans import best_span


class Prediction(NamedTuple):
    """
    spans : `torch.LongTensor`
        Shape `(batch_size, 2)`: first and last (inclusive) token of the best span.
    scores : `torch.Tensor`
        Shape `(batch_size,)`: the sum of its two logits.
    log_starts, log_ends : `torch.Tensor`
        Shape `(batch_size,)`: the log-sum-exp of the logits of all tokens. The probability of the best
        span is `exp(score - log_start - log_end)`.
    """

    spans: torch.Tensor
    scores: torch.Tensor
    log_starts: torch.Tensor
    log_ends: torch.Tensor


class SpanOutput:
    """
    The sixth layer: see `SpanOutputLayer`.

    # Parameters

    settings : `Dict[str, Any]`
        `end_input`, `temperature`, and the layers of the `end_encoder`.
    tensors : `Tensors`
        `start_scorer`, `end_scorer`, `end_encoder` and, for models that know of questions without an
        answer, `no_answer_logits`.

    # Attributes

    no_answer_logits : `torch.Tensor`
        Shape `(2,)`: one more outcome of either softmax. None for models that do not know of it.
    """

    def __init__(self, settings: Dict[str, Any], tensors: Tensors) -> None:
        self._end_input: str = settings["end_input"]
        self._temperature: float = settings["temperature"]
        self._end_encoder = Encoder(settings["end_encoder"], part(tensors, "end_encoder"))
        self._start_scorer = part(tensors, "start_scorer")
        self._end_scorer = part(tensors, "end_scorer")
        self._untempered_no_answer_logits = tensors.get("no_answer_logits")
        self.no_answer_logits: Optional[torch.Tensor] = None
        if self._untempered_no_answer_logits is not None:
            self.no_answer_logits = self._untempered_no_answer_logits / self._temperature

    def __call__(
        self,
        query_aware: torch.Tensor,
        modeled: torch.Tensor,
        mask: torch.Tensor,
        max_answer_length: Optional[int],
    ) -> Prediction:
        # Shape: (batch_size, passage_length)
        start_logits = _score([query_aware, modeled], mask, self._start_scorer)
        end_input = modeled
        if self._end_input == "authors_code":
            # Shape: (batch_size, 1, modeled_dim)
            summary = self._start_probs(start_logits).unsqueeze(1) @ modeled
            # Shape: (batch_size, passage_length, query_aware_dim + 3 * modeled_dim)
            end_input = torch.cat(
                [query_aware, modeled, summary.expand_as(modeled), modeled * summary], dim=-1
            )
        # Shape: (batch_size, passage_length, 2 * hidden_size)
        end_encoded = self._end_encoder(end_input, mask)
        # Shape: (batch_size, passage_length)
        end_logits = _score([query_aware, end_encoded], mask, self._end_scorer)
        return _decode(
            start_logits / self._temperature, end_logits / self._temperature, max_answer_length
        )

    def _start_probs(self, start_logits: torch.Tensor) -> torch.Tensor:
        """`p1`, without its share of no answer. Shape: (batch_size, passage_length)"""
        outcomes = start_logits
        if self._untempered_no_answer_logits is not None:
            # Shape: (batch_size, passage_length + 1)
            no_answer = self._untempered_no_answer_logits[0].expand(len(outcomes), 1)
            outcomes = torch.cat([outcomes, no_answer], dim=1)
        return outcomes.softmax(dim=-1)[:, : start_logits.size(1)]


def _score(vectors: List[torch.Tensor], mask: torch.Tensor, scorer: Tensors) -> torch.Tensor:
    """The smallest value of the type at padding. Shape: (batch_size, passage_length)"""
    # Shape: (batch_size, passage_length)
    logits = linear(torch.cat(vectors, dim=-1), scorer).squeeze(-1)
    return logits.masked_fill(~mask, torch.finfo(logits.dtype).min)


def _decode(
    start_logits: torch.Tensor, end_logits: torch.Tensor, max_answer_length: Optional[int]
) -> Prediction:
    # Shape: (batch_size, 2)
    spans, _ = best_span(
        start_logits.log_softmax(dim=-1), end_logits.log_softmax(dim=-1), max_answer_length
    )
    # Where these are added and subtracted, single precision would show.
    # Shape: (batch_size, passage_length) for both
    start_logits, end_logits = start_logits.double(), end_logits.double()
    # Shape: (batch_size, 1) for both
    firsts, lasts = spans.split(1, dim=1)
    # Shape: (batch_size,)
    scores = (start_logits.gather(1, firsts) + end_logits.gather(1, lasts)).squeeze(1)
    return Prediction(spans, scores, start_logits.logsumexp(dim=-1), end_logits.logsumexp(dim=-1))

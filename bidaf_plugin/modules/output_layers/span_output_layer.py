from typing import Any, Dict, List, Optional

import torch
from allennlp.common.checks import ConfigurationError, check_dimensions_match
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from allennlp.nn import util
from overrides import overrides

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.metrics import SpanAccuracy, SquadEmAndF1
from bidaf_plugin.modules.fast_dropout import FastDropout
from bidaf_plugin.modules.output_layers.output_layer import OutputLayer
from bidaf_plugin.modules.output_layers.summarized_vectors import SummarizedVectors
from bidaf_plugin.modules.seq2seq_encoders.unpacked_lstm_encoder import encode
from bidaf_plugin.nn.passage_vectors import JoinedVectors, PassageVectors, WholeVectors
from bidaf_plugin.nn.spans import best_span

NO_SPAN = -1
_END_INPUTS = ("authors_code", "paper_text")
_TRAINING_TARGETS = ("first", "drawn")


@OutputLayer.register("span")
class SpanOutputLayer(OutputLayer):
    """
    The output layer for question answering: the answer is a span of the passage.

    - `p1 = softmax(w1^T [G; M])`, the first token of the answer;
    - `p2 = softmax(w2^T [G; M2])`, its last token, where `M2` comes from one more BiLSTM;
    - loss: `-log p1[y1] - log p2[y2]`, averaged over the batch;
    - answer: the span `k <= l` with the largest `p1_k * p2_l`, which is also its confidence.

    Registered as an `OutputLayer` with name "span", the default.

    # Parameters

    query_aware_dim : `int`
        The size of a vector of `G`.
    modeled_dim : `int`
        The size of a vector of `M`.
    end_encoder : `Seq2SeqEncoder`
        The BiLSTM that makes `M2`.
    end_input : `str`, optional (default = `"authors_code"`)
        What `end_encoder` reads. `"authors_code"`: `[G; M; a; M * a]`, where `a = sum_t p1_t M_t` is
        what the start is about; this is what the authors ran, and it has the 2.6 million parameters
        that the paper states. `"paper_text"`: `M` alone, as the paper says, with 1.6 million.
    training_target : `str`, optional (default = `"first"`)
        Which of several gold answers is learned: `"first"`, or one `"drawn"` anew each time the
        question is seen, as the authors do. (SQuAD's training questions have one each.)
    max_answer_length : `int`, optional (default = `None`)
        The largest number of tokens of an answer. No limit by default, as in the paper.
    dropout : `float`, optional (default = `0.2`)
        On `M` and on `M2`. (`G` comes with the dropout of the model.)
    """

    def __init__(
        self,
        query_aware_dim: int,
        modeled_dim: int,
        end_encoder: Seq2SeqEncoder,
        end_input: str = "authors_code",
        training_target: str = "first",
        max_answer_length: Optional[int] = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        _check_choice("end_input", end_input, _END_INPUTS)
        _check_choice("training_target", training_target, _TRAINING_TARGETS)
        end_input_dim = (
            modeled_dim if end_input == "paper_text" else query_aware_dim + 3 * modeled_dim
        )
        check_dimensions_match(
            end_encoder.get_input_dim(),
            end_input_dim,
            "input of the output layer's end_encoder",
            f"the vectors it reads with end_input {end_input!r}",
        )
        self._query_aware_dim = query_aware_dim
        self._modeled_dim = modeled_dim
        self._end_encoder = end_encoder
        self._end_input = end_input
        self._training_target = training_target
        self._max_answer_length: Optional[int] = None
        self.set_max_answer_length(max_answer_length)
        self._dropout = FastDropout(dropout)
        self._start_scorer = torch.nn.Linear(query_aware_dim + modeled_dim, 1)
        self._end_scorer = torch.nn.Linear(query_aware_dim + end_encoder.get_output_dim(), 1)
        self._em_and_f1 = SquadEmAndF1()
        self._span_accuracy = SpanAccuracy()

    def set_max_answer_length(self, max_answer_length: Optional[int]) -> None:
        """Changes the largest number of tokens of an answer; None for no limit."""
        if max_answer_length is not None and not (
            isinstance(max_answer_length, int) and max_answer_length >= 1
        ):
            raise ConfigurationError(
                f"max_answer_length must be a number of tokens, 1 or more, not {max_answer_length!r}"
            )
        self._max_answer_length = max_answer_length

    @overrides
    def get_query_aware_dim(self) -> int:
        return self._query_aware_dim

    @overrides
    def get_modeled_dim(self) -> int:
        return self._modeled_dim

    @overrides(check_signature=False)
    def forward(  # type: ignore[override]
        self,
        query_aware_passage: PassageVectors,
        modeled_passage: torch.Tensor,
        passage_mask: torch.Tensor,
        answer_spans: Optional[torch.Tensor] = None,
    ) -> Dict[str, torch.Tensor]:
        """
        # Parameters

        answer_spans : `torch.LongTensor`, optional
            Shape `(batch_size, num_answers, 2)`: first and last (inclusive) token of each gold
            answer, padded with -1. A question without answers has only padding: it counts neither for
            the loss nor for the score.

        # Returns

        span_start_log_probs, span_end_log_probs : `torch.Tensor`
            `log p1` and `log p2`, shape `(batch_size, passage_length)`; the smallest value of the
            type at padding.
        best_span : `torch.LongTensor`
            Shape `(batch_size, 2)`: first and last (inclusive) token.
        confidence : `torch.Tensor`
            `p1_k * p2_l` of the best span, shape `(batch_size,)`.
        loss : `torch.Tensor`
            A scalar, if there are `answer_spans`.
        """
        # Shape: (batch_size, passage_length, modeled_dim)
        modeled_passage = self._dropout(modeled_passage)
        # Shape: (batch_size, passage_length)
        start_log_probs = self._log_probs(
            self._start_scorer, query_aware_passage, modeled_passage, passage_mask
        )
        end_input = self._make_end_input(query_aware_passage, modeled_passage, start_log_probs)
        # Shape: (batch_size, passage_length, 2 * hidden_size)
        end_encoded = self._dropout(encode(self._end_encoder, end_input, passage_mask))
        # Shape: (batch_size, passage_length)
        end_log_probs = self._log_probs(
            self._end_scorer, query_aware_passage, end_encoded, passage_mask
        )
        # Shape: (batch_size, 2) and (batch_size,)
        best_spans, best_scores = best_span(start_log_probs, end_log_probs, self._max_answer_length)
        output_dict = {
            "span_start_log_probs": start_log_probs,
            "span_end_log_probs": end_log_probs,
            "best_span": best_spans,
            "confidence": best_scores.exp(),
        }
        if answer_spans is not None and (answer_spans >= 0).any():
            output_dict["loss"] = self._loss(start_log_probs, end_log_probs, answer_spans)
        elif answer_spans is not None and self.training:
            raise DataError("a batch of training data has no question with an answer")
        return output_dict

    def _log_probs(
        self,
        scorer: torch.nn.Linear,
        query_aware_passage: PassageVectors,
        encoded_passage: torch.Tensor,
        passage_mask: torch.Tensor,
    ) -> torch.Tensor:
        scored = self._join(query_aware_passage, WholeVectors(encoded_passage))
        # In single precision whatever the network's: half precision cannot hold small probabilities.
        # Shape: (batch_size, passage_length)
        logits = scored.project(scorer.weight, scorer.bias).squeeze(-1).float()
        lowest = util.min_value_of_dtype(logits.dtype)
        # Shape: (batch_size, passage_length)
        log_probs = logits.masked_fill(~passage_mask, lowest).log_softmax(dim=-1)
        return log_probs.masked_fill(~passage_mask, lowest)

    def _make_end_input(
        self,
        query_aware_passage: PassageVectors,
        modeled_passage: torch.Tensor,
        start_log_probs: torch.Tensor,
    ) -> PassageVectors:
        if self._end_input == "paper_text":
            return WholeVectors(modeled_passage)
        # Shape: (batch_size, 1, passage_length)
        start_probs = start_log_probs.exp().unsqueeze(1).to(modeled_passage.dtype)
        # Shape: (batch_size, 1, modeled_dim)
        start_summary = start_probs @ modeled_passage
        return self._join(query_aware_passage, SummarizedVectors(modeled_passage, start_summary))

    def _join(self, query_aware_passage: PassageVectors, others: PassageVectors) -> PassageVectors:
        return JoinedVectors([query_aware_passage, others], self._query_aware_dim)

    def _loss(
        self,
        start_log_probs: torch.Tensor,
        end_log_probs: torch.Tensor,
        answer_spans: torch.Tensor,
    ) -> torch.Tensor:
        if self.training and self._training_target == "drawn":
            # Shape: (batch_size, num_answers)
            can_be_drawn = answer_spans[:, :, 0] >= 0
            # A question without answers draws one of its paddings, which the loss ignores.
            can_be_drawn = can_be_drawn | ~can_be_drawn.any(dim=1, keepdim=True)
            # Shape: (batch_size, 1)
            chosen = can_be_drawn.float().multinomial(1)
        else:
            # Shape: (batch_size, 1)
            chosen = answer_spans.new_zeros(answer_spans.size(0), 1)
        # Shape: (batch_size, 2)
        target = answer_spans.gather(1, chosen.unsqueeze(-1).expand(-1, -1, 2)).squeeze(1)
        start_loss, end_loss = (
            torch.nn.functional.nll_loss(log_probs, target[:, side], ignore_index=NO_SPAN)
            for side, log_probs in enumerate((start_log_probs, end_log_probs))
        )
        return start_loss + end_loss

    @overrides(check_signature=False)
    def update_metrics(  # type: ignore[override]
        self,
        output_dict: Dict[str, torch.Tensor],
        metadata: List[Dict[str, Any]],
        answer_spans: torch.Tensor,
    ) -> None:
        # Shape: (batch_size,)
        has_answer = answer_spans[:, 0, 0] >= 0
        self._span_accuracy(output_dict["best_span"][has_answer], answer_spans[has_answer])
        predictions = self.make_output_human_readable(output_dict, metadata)["best_span_str"]
        answered = [
            (prediction, item["answers"])
            for prediction, item in zip(predictions, metadata, strict=True)
            if item["answers"]
        ]
        self._em_and_f1([text for text, _ in answered], [answers for _, answers in answered])

    @overrides
    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        return {**self._em_and_f1.get_metric(reset), **self._span_accuracy.get_metric(reset)}

    @overrides
    def make_output_human_readable(
        self, output_dict: Dict[str, torch.Tensor], metadata: List[Dict[str, Any]]
    ) -> Dict[str, Any]:
        """
        # Returns

        id : `List[str]`
        best_span_str : `List[str]`
            The answers, cut from the original passages.
        best_span : `List[List[int]]`
            First and last (inclusive) token.
        best_span_characters : `List[List[int]]`
            First character, and one past the last: `passage[first:end]` is the answer.
        confidence : `List[float]`
        """
        spans = output_dict["best_span"].tolist()
        characters = [
            [item["passage_tokens"][first].idx, item["passage_tokens"][last].idx_end]
            for (first, last), item in zip(spans, metadata, strict=True)
        ]
        return {
            "id": [item["id"] for item in metadata],
            "best_span_str": [
                item["passage"][start:end]
                for (start, end), item in zip(characters, metadata, strict=True)
            ],
            "best_span": spans,
            "best_span_characters": characters,
            "confidence": output_dict["confidence"].tolist(),
        }


def _check_choice(name: str, choice: str, choices: tuple) -> None:
    if choice not in choices:
        raise ConfigurationError(f"{name} is {choice!r}; it must be one of {', '.join(choices)}")

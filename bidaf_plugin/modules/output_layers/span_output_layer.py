from typing import Any, Dict, List, Optional, Union

import torch
from allennlp.common.checks import ConfigurationError, check_dimensions_match
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from overrides import overrides

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.modules.dropped_inputs import encode_dropped, score_dropped
from bidaf_plugin.modules.output_layers.output_layer import OutputLayer
from bidaf_plugin.modules.output_layers.span_decoder import SpanDecoder, TokenSoftmax
from bidaf_plugin.modules.output_layers.span_targets import (
    choose_targets,
    is_known,
    negative_log_likelihood,
)
from bidaf_plugin.nn.concatenation import Terms, as_terms
from bidaf_plugin.training.metrics import SpanAccuracy, Squad2EmAndF1, SquadEmAndF1


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
        On what the two linear layers and `end_encoder` read.
    no_answer : `bool`, optional (default = `False`)
        Whether the passage may not answer the question, as in SQuAD 2.0. Then both softmaxes have one
        more outcome, with a learned logit
        ([Levy et al., 2017](https://arxiv.org/abs/1706.04115)), and the product of its two
        probabilities is the probability that there is no answer. Without it, questions that cannot be
        answered count neither for the loss nor for the score.
    no_answer_threshold : `float`, optional (default = `None`)
        The answer is none if the probability of that is larger than this; by default, if it is
        larger than that of the best span.
    no_answer_summary : `bool`, optional (default = `False`)
        Whether the logits of no answer depend on the question and its passage: `b + v^T ReLU(V a + c)`, where
        `a` is the sum of `M` (for the end, of `M2`) with the softmax of the tokens as weights: what the
        answer would be about ([Clark & Gardner, 2018](https://arxiv.org/abs/1710.10723)). Without it they
        are one number `b` each.
    no_answer_weight : `float`, optional (default = `1.0`)
        How much a question without an answer counts in the loss, for training data that has few of them.
    temperature : `float`, optional (default = `1.0`)
        In evaluation the logits are divided by it, which changes probabilities and no best span. (`a`
        keeps the `p1` of temperature 1.)
    """

    reads_terms = True

    def __init__(
        self,
        query_aware_dim: int,
        modeled_dim: int,
        end_encoder: Seq2SeqEncoder,
        end_input: str = "authors_code",
        training_target: str = "first",
        max_answer_length: Optional[int] = None,
        dropout: float = 0.2,
        no_answer: bool = False,
        no_answer_threshold: Optional[float] = None,
        no_answer_summary: bool = False,
        no_answer_weight: float = 1.0,
        temperature: float = 1.0,
    ) -> None:
        super().__init__()
        _check_choice("end_input", end_input, ("authors_code", "paper_text"))
        _check_choice("training_target", training_target, ("first", "drawn"))
        if not temperature > 0:
            raise ConfigurationError(f"temperature must be larger than 0, not {temperature!r}")
        if not no_answer_weight > 0:
            raise ConfigurationError(
                f"no_answer_weight must be larger than 0, not {no_answer_weight!r}"
            )
        if no_answer_summary and not no_answer:
            raise ConfigurationError("no_answer_summary needs `no_answer: true`")
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
        self.temperature = temperature
        self._dropout = torch.nn.Dropout(dropout)
        self._start_scorer = torch.nn.Linear(query_aware_dim + modeled_dim, 1)
        self._end_scorer = torch.nn.Linear(query_aware_dim + end_encoder.get_output_dim(), 1)
        self.no_answer = no_answer
        # For the start and for the end.
        self._no_answer_logits = torch.nn.Parameter(torch.zeros(2)) if no_answer else None
        self._no_answer_weight = no_answer_weight
        self._no_answer_scorers: Optional[torch.nn.ModuleList] = None
        if no_answer_summary:
            self._no_answer_scorers = torch.nn.ModuleList(
                torch.nn.Sequential(
                    torch.nn.Linear(dim, dim), torch.nn.ReLU(), torch.nn.Linear(dim, 1, bias=False)
                )
                for dim in (modeled_dim, end_encoder.get_output_dim())
            )
        self.decoder = SpanDecoder(no_answer)
        self.decoder.set_max_answer_length(max_answer_length)
        self.decoder.set_no_answer_threshold(no_answer_threshold)
        self._em_and_f1: Union[SquadEmAndF1, Squad2EmAndF1] = (
            Squad2EmAndF1() if no_answer else SquadEmAndF1()
        )
        self._span_accuracy = SpanAccuracy()
        # Whether a batch of this epoch had nothing to learn from.
        self._has_empty_batches = False

    @overrides
    def get_query_aware_dim(self) -> int:
        return self._query_aware_dim

    @overrides
    def get_modeled_dim(self) -> int:
        return self._modeled_dim

    @overrides(check_signature=False)
    def forward(  # type: ignore[override]
        self,
        query_aware_passage: Terms,
        modeled_passage: torch.Tensor,
        passage_mask: torch.Tensor,
        answer_spans: Optional[torch.Tensor] = None,
    ) -> Dict[str, torch.Tensor]:
        """
        # Parameters

        answer_spans : `torch.LongTensor`, optional
            Shape `(batch_size, num_answers, 2)`: first and last (inclusive) token of each gold
            answer, padded with -1; -2 for a question that cannot be answered. A question with
            padding only, whose answers are not known, counts neither for the loss nor for the score.

        # Returns

        span_start_logits, span_end_logits : `torch.Tensor`
            What `p1` and `p2` are the softmax of, shape `(batch_size, passage_length)`; the smallest
            value of the type at padding.
        span_start_log_probs, span_end_log_probs : `torch.Tensor`
            `log p1` and `log p2`, likewise.
        best_span : `torch.LongTensor`
            Shape `(batch_size, 2)`: first and last (inclusive) token; -2 for no answer.
        confidence : `torch.Tensor`
            The probability of that, shape `(batch_size,)`: `p1_k * p2_l` of the best span.
        no_answer_logits : `torch.Tensor`
            With `no_answer`, shape `(batch_size, 2)`: the further outcome of either softmax.
        no_answer_log_probs : `torch.Tensor`
            With `no_answer`, likewise.
        no_answer_probability : `torch.Tensor`
            With `no_answer`, shape `(batch_size,)`.
        loss : `torch.Tensor`
            A scalar, if there are `answer_spans` that count. In training it is 0 where none does.
        """
        query_aware_terms = as_terms(query_aware_passage)
        # Shape: (batch_size, passage_length)
        start_logits = score_dropped(
            self._start_scorer, self._dropout, [*query_aware_terms, modeled_passage]
        )
        start = self._softmax_of(0, start_logits, modeled_passage, passage_mask)
        if self._end_input == "paper_text":
            end_input = [modeled_passage]
        else:
            # Shape: (batch_size, 1, passage_length)
            start_probs = start.log_probs.exp().unsqueeze(1).to(modeled_passage.dtype)
            # `a`, shape (batch_size, 1, modeled_dim)
            summary = start_probs @ modeled_passage
            end_input = [*query_aware_terms, modeled_passage, summary, modeled_passage * summary]
        # `M2`, shape (batch_size, passage_length, 2 * hidden_size)
        end_encoded = encode_dropped(self._end_encoder, self._dropout, end_input, passage_mask)
        # Shape: (batch_size, passage_length)
        end_logits = score_dropped(
            self._end_scorer, self._dropout, [*query_aware_terms, end_encoded]
        )
        end = self._softmax_of(1, end_logits, end_encoded, passage_mask)
        if self.temperature != 1.0 and not self.training:
            start, end = (side.at_temperature(self.temperature) for side in (start, end))
        output_dict = self.decoder.decode(start, end)
        if answer_spans is not None:
            self._add_loss(output_dict, answer_spans)
        return output_dict

    def _softmax_of(
        self, side: int, logits: torch.Tensor, vectors: torch.Tensor, mask: torch.Tensor
    ) -> TokenSoftmax:
        """`p1` (0) or `p2` (1), from the logits of the tokens and from the vectors that these are about."""
        if self._no_answer_logits is None:
            return TokenSoftmax(logits, mask)
        # Shape: (batch_size,)
        no_answer_logits = self._no_answer_logits[side].expand(logits.size(0))
        if self._no_answer_scorers is not None:
            # Shape: (batch_size, 1, passage_length)
            weights = TokenSoftmax(logits, mask).log_probs.exp().unsqueeze(1).to(vectors.dtype)
            # Shape: (batch_size, dim)
            summary = (weights @ vectors).squeeze(1)
            # Shape: (batch_size,)
            no_answer_logits = no_answer_logits + self._no_answer_scorers[side](summary).squeeze(-1)
        return TokenSoftmax(logits, mask, no_answer_logits)

    def _add_loss(self, output_dict: Dict[str, torch.Tensor], answer_spans: torch.Tensor) -> None:
        if not is_known(answer_spans, self.no_answer).any():
            if not self.training:
                return
            # Training needs a loss of every batch, also to keep several processes in step.
            self._has_empty_batches = True
        # Shape: (batch_size, 2)
        targets = choose_targets(
            answer_spans, draw=self.training and self._training_target == "drawn"
        )
        no_answer = (
            output_dict["no_answer_log_probs"].unbind(dim=1) if self.no_answer else (None, None)
        )
        start_loss, end_loss = (
            negative_log_likelihood(
                output_dict[f"span_{side}_log_probs"], tokens, log_probs, self._no_answer_weight
            )
            for side, tokens, log_probs in zip(
                ("start", "end"), targets.unbind(dim=1), no_answer, strict=True
            )
        )
        output_dict["loss"] = start_loss + end_loss

    @overrides(check_signature=False)
    def update_metrics(  # type: ignore[override]
        self,
        output_dict: Dict[str, torch.Tensor],
        metadata: List[Dict[str, Any]],
        answer_spans: torch.Tensor,
    ) -> None:
        # Shape: (batch_size,)
        counts = is_known(answer_spans, self.no_answer)
        self._span_accuracy(output_dict["best_span"][counts], answer_spans[counts])
        predictions = self.make_output_human_readable(output_dict, metadata)["best_span_str"]
        indices = counts.nonzero().flatten().tolist()
        self._em_and_f1(
            [predictions[index] for index in indices],
            [metadata[index]["answers"] for index in indices],
        )

    @overrides
    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        metrics = {**self._em_and_f1.get_metric(reset), **self._span_accuracy.get_metric(reset)}
        if reset:
            # At the end of an epoch the metrics are those of all processes, which thus agree on it.
            if self.training and self._has_empty_batches and not metrics:
                raise DataError("the training data has no question with an answer")
            self._has_empty_batches = False
        return metrics

    @overrides
    def make_output_human_readable(
        self, output_dict: Dict[str, torch.Tensor], metadata: List[Dict[str, Any]]
    ) -> Dict[str, Any]:
        """
        # Returns

        id : `List[str]`
        best_span_str : `List[str]`
            The answers, cut from the original passages; empty for no answer.
        best_span : `List[Optional[List[int]]]`
            First and last (inclusive) token; None for no answer.
        best_span_characters : `List[Optional[List[int]]]`
            First character, and one past the last: `passage[first:end]` is the answer.
        confidence : `List[float]`
        no_answer_probability : `List[float]`
            With `no_answer` only.
        """
        return self.decoder.make_readable(output_dict, metadata)


def _check_choice(name: str, choice: str, choices: tuple) -> None:
    if choice not in choices:
        raise ConfigurationError(f"{name} is {choice!r}; it must be one of {', '.join(choices)}")

import math
from typing import Dict, List, NamedTuple, Optional, Tuple

import numpy
import torch

from bidaf_plugin.data.tokenizers.text_tokens import character_offsets
from bidaf_plugin.nn.answers import top_answers
from bidaf_plugin.nn.spans import best_span
from bidaf_plugin.predictors.pieces import Piece
from bidaf_plugin.predictors.records import Answer

# So many answers of a piece are kept at least: what is not the best in any piece may be so in all.
_MIN_ANSWERS_PER_PIECE = 10


class ScoredSpan(NamedTuple):
    """
    A span of a passage. Sorted, the best comes first.

    negative_score : `float`
        Minus the sum of the logits of the first and the last token, and of the prior of the piece.
    """

    negative_score: float
    passage_index: int
    start: int
    end: int
    first_token: int
    last_token: int


class Ranking:
    """
    The answers to a question, from the pieces of all of its passages.

    The probabilities are those of one softmax over the tokens of all pieces, so they compare: `p1_k` is
    `exp(start logit of k + prior / 2)` over the sum of all such numbers, and `p2_l` likewise; where
    the model has a score for no answer, that is one more summand. The probability of a span is
    `p1_k * p2_l`, that of an answer the sum over the spans that read so. A span that two pieces share
    counts once, with the better of its scores. An answer counts in the pieces in which it is among
    the best; in a passage of one piece these are all of its spans.

    Memory grows with the number of pieces and not with their length.

    # Parameters

    num_pieces : `int`
        How many are to come.
    n : `int`
        How many answers are wanted.
    max_answer_length : `int`, optional (default = `None`)
        In tokens.
    """

    def __init__(self, num_pieces: int, n: int, max_answer_length: Optional[int] = None) -> None:
        self.num_missing = num_pieces
        self._n = n
        self._num_kept = n if num_pieces == 1 else max(n, _MIN_ANSWERS_PER_PIECE)
        self._max_answer_length = max_answer_length
        # The logarithms of the sums over the tokens.
        self._log_starts = self._log_ends = -math.inf
        self._best: Optional[Tuple[ScoredSpan, str]] = None
        # By text, then by the passage and the characters.
        self._spans: Dict[str, Dict[Tuple[int, int, int], ScoredSpan]] = {}

    def add(self, piece: Piece, start_logits: numpy.ndarray, end_logits: numpy.ndarray) -> None:
        """
        # Parameters

        start_logits, end_logits : `numpy.ndarray`
            Shape `(num_tokens,)`, without padding.
        """
        start_logits, end_logits = start_logits + piece.prior / 2, end_logits + piece.prior / 2
        log_starts = float(numpy.logaddexp.reduce(start_logits))
        log_ends = float(numpy.logaddexp.reduce(end_logits))
        self._add_to_sums(log_starts, log_ends)
        metadata = piece.instance["metadata"].metadata
        passage, max_length = metadata["passage"], self._max_answer_length
        offsets = numpy.array(character_offsets(metadata["passage_tokens"]))

        def span_of(first: int, last: int) -> Tuple[ScoredSpan, str]:
            start, end = int(offsets[0, first]), int(offsets[1, last])
            tokens = piece.first_token + first, piece.first_token + last
            score = float(start_logits[first] + end_logits[last])
            return ScoredSpan(-score, piece.passage_index, start, end, *tokens), passage[start:end]

        # The best span need not be of one of the best answers, which may stand in several places.
        # Shape: (1, num_tokens) for both
        start_row, end_row = (torch.from_numpy(x).unsqueeze(0) for x in (start_logits, end_logits))
        spans, _ = best_span(start_row, end_row, max_length)
        best = span_of(*spans[0].tolist())
        self._best = best if self._best is None else min(best, self._best)
        starts, ends = start_logits - log_starts, end_logits - log_ends
        for answer in top_answers(starts, ends, passage, offsets, self._num_kept, max_length):
            for first in answer.first_tokens.tolist():
                span, text = span_of(first, first + answer.length - 1)
                spans_of_text = self._spans.setdefault(text, {})
                key = span.passage_index, span.start, span.end
                spans_of_text[key] = min(span, spans_of_text.get(key, span))
        self.num_missing -= 1

    def _add_to_sums(self, log_start: float, log_end: float) -> None:
        self._log_starts = float(numpy.logaddexp(self._log_starts, log_start))
        self._log_ends = float(numpy.logaddexp(self._log_ends, log_end))

    def add_no_answer(self, start_logit: float, end_logit: float) -> float:
        """
        Makes it one more outcome that there is no answer, after all pieces have been added.

        # Returns

        `float`
            Its probability.
        """
        self._add_to_sums(start_logit, end_logit)
        return math.exp(start_logit - self._log_starts + end_logit - self._log_ends)

    def best_span(self) -> Tuple[str, ScoredSpan, float]:
        """The most probable span: its text, where it is and its probability."""
        assert self._best is not None
        span, text = self._best
        return text, span, self._probability(span)

    def answers(self) -> List[Answer]:
        """The best answers, the most probable first."""
        answers = []
        for text, spans in self._spans.items():
            _, passage_index, start, end, first_token, last_token = min(spans.values())
            probability = math.fsum(map(self._probability, spans.values()))
            answers.append(
                Answer(text, probability, start, end, first_token, last_token, passage_index)
            )
        # Where probabilities are equal, the order of the pieces must not matter.
        answers.sort(key=lambda item: (-item.probability, item.passage_index, item.start, item.end))
        return answers[: self._n]

    def _probability(self, span: ScoredSpan) -> float:
        return math.exp(-span.negative_score - self._log_starts - self._log_ends)

import math
from typing import Dict, List, NamedTuple, Optional, Tuple

import numpy
import torch

from bidaf_plugin.data.tokenizers.text_tokens import character_offsets
from bidaf_plugin.nn.distinct_answers import top_answers
from bidaf_plugin.nn.spans import best_span
from bidaf_plugin.predictors.answers import Answer
from bidaf_plugin.predictors.pieces import Piece

# So many answers of a piece are kept at least: what is not the best in any piece may be so in all.
_MIN_ANSWERS_PER_PIECE = 10


class Place(NamedTuple):
    """
    A span of a passage. Places are in the order of their scores, the best first.

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
    `p1_k * p2_l`, that of an answer the sum over the places in which it stands. A place that two
    pieces share counts once, with the better of its scores. An answer counts in the pieces in which
    it is among the best; in a passage of one piece this is all of its places.

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
        self._best: Optional[Tuple[Place, str]] = None
        # By text, then by the passage and the characters.
        self._places: Dict[str, Dict[Tuple[int, int, int], Place]] = {}

    def add(self, piece: Piece, start_logits: numpy.ndarray, end_logits: numpy.ndarray) -> None:
        """
        # Parameters

        start_logits, end_logits : `numpy.ndarray`
            Shape `(num_tokens,)`, without padding.
        """
        start_logits, end_logits = start_logits + piece.prior / 2, end_logits + piece.prior / 2
        log_starts, log_ends = _log_sum_exp(start_logits), _log_sum_exp(end_logits)
        self._log_starts = float(numpy.logaddexp(self._log_starts, log_starts))
        self._log_ends = float(numpy.logaddexp(self._log_ends, log_ends))
        metadata = piece.instance["metadata"].metadata
        passage, max_length = metadata["passage"], self._max_answer_length
        offsets = numpy.array(character_offsets(metadata["passage_tokens"]))

        def place(first: int, last: int) -> Tuple[Place, str]:
            start, end = int(offsets[0, first]), int(offsets[1, last])
            tokens = piece.first_token + first, piece.first_token + last
            score = float(start_logits[first] + end_logits[last])
            return Place(-score, piece.passage_index, start, end, *tokens), passage[start:end]

        # The best span need not be of one of the best answers, which may stand in several places.
        best = place(*_best_span(start_logits, end_logits, max_length))
        self._best = best if self._best is None else min(best, self._best)
        starts, ends = start_logits - log_starts, end_logits - log_ends
        for answer in top_answers(starts, ends, passage, offsets, self._num_kept, max_length):
            for first in answer.first_tokens.tolist():
                self._keep(*place(first, first + answer.length - 1))
        self.num_missing -= 1

    def _keep(self, place: Place, text: str) -> None:
        places = self._places.setdefault(text, {})
        key = place.passage_index, place.start, place.end
        places[key] = min(place, places.get(key, place))

    def add_no_answer(self, start_logit: float, end_logit: float) -> float:
        """
        Makes it one more outcome that there is no answer, after all pieces have been added.

        # Returns

        `float`
            Its probability.
        """
        self._log_starts = float(numpy.logaddexp(self._log_starts, start_logit))
        self._log_ends = float(numpy.logaddexp(self._log_ends, end_logit))
        return math.exp(start_logit - self._log_starts + end_logit - self._log_ends)

    def best_place(self) -> Tuple[str, Place, float]:
        """The most probable span: its text, its place and its probability."""
        assert self._best is not None
        place, text = self._best
        return text, place, self._probability(place)

    def answers(self) -> List[Answer]:
        """The best answers, the most probable first."""
        answers = []
        for text, places in self._places.items():
            _, passage_index, start, end, first_token, last_token = min(places.values())
            probability = math.fsum(map(self._probability, places.values()))
            answers.append(
                Answer(text, probability, start, end, first_token, last_token, passage_index)
            )
        # Where probabilities are equal, the order of the pieces must not matter.
        answers.sort(key=lambda item: (-item.probability, item.passage_index, item.start, item.end))
        return answers[: self._n]

    def _probability(self, place: Place) -> float:
        return math.exp(-place.negative_score - self._log_starts - self._log_ends)


def _best_span(
    start_logits: numpy.ndarray, end_logits: numpy.ndarray, max_length: Optional[int]
) -> Tuple[int, int]:
    # Shape: (1, num_tokens) for both
    start_scores, end_scores = (
        torch.from_numpy(logits).unsqueeze(0) for logits in (start_logits, end_logits)
    )
    spans, _ = best_span(start_scores, end_scores, max_length)
    first, last = spans[0].tolist()
    return first, last


def _log_sum_exp(values: numpy.ndarray) -> float:
    largest = float(values.max())
    return largest + math.log(float(numpy.exp(values - largest).sum()))

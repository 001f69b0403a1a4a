import math
from typing import Dict, List, NamedTuple, Optional, Tuple

import numpy

from bidaf_plugin.dataset_readers.token_spans import character_offsets
from bidaf_plugin.nn.distinct_answers import top_answers
from bidaf_plugin.predictors.answers import Answer
from bidaf_plugin.predictors.pieces import Piece

# So many answers of a piece are kept at least: what is not the best in any piece may be so in all.
_MIN_ANSWERS_PER_PIECE = 10


class Place(NamedTuple):
    """
    A span of a passage.

    score : `float`
        The sum of the logits of its first and last token, and of the prior of its piece.
    """

    passage_index: int
    start: int
    end: int
    first_token: int
    last_token: int
    score: float


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
        offsets = numpy.array(character_offsets(metadata["passage_tokens"]))
        for answer in top_answers(
            start_logits - log_starts,
            end_logits - log_ends,
            metadata["passage"],
            offsets,
            self._num_kept,
            self._max_answer_length,
        ):
            for first in answer.first_tokens.tolist():
                last = first + answer.length - 1
                place = Place(
                    piece.passage_index,
                    int(offsets[0, first]),
                    int(offsets[1, last]),
                    piece.first_token + first,
                    piece.first_token + last,
                    float(start_logits[first] + end_logits[last]),
                )
                self._keep(metadata["passage"][place.start : place.end], place)
        self.num_missing -= 1

    def _keep(self, text: str, place: Place) -> None:
        places = self._places.setdefault(text, {})
        known = places.get(place[:3])
        if known is None or known.score < place.score:
            places[place[:3]] = place

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
        text, place = min(
            ((text, place) for text, places in self._places.items() for place in places.values()),
            key=lambda item: (-item[1].score, item[1]),
        )
        return text, place, self._probability(place)

    def answers(self) -> List[Answer]:
        """The best answers, the most probable first."""
        answers = []
        for text, places in self._places.items():
            best = min(places.values(), key=lambda place: (-place.score, place))
            probability = math.fsum(map(self._probability, places.values()))
            answers.append(
                Answer(
                    text,
                    probability,
                    best.start,
                    best.end,
                    best.first_token,
                    best.last_token,
                    best.passage_index,
                )
            )
        # Where probabilities are equal, the order of the pieces must not matter.
        answers.sort(key=lambda item: (-item.probability, item.passage_index, item.start, item.end))
        return answers[: self._n]

    def _probability(self, place: Place) -> float:
        return math.exp(place.score - self._log_starts - self._log_ends)


def _log_sum_exp(values: numpy.ndarray) -> float:
    largest = float(values.max())
    return largest + math.log(float(numpy.exp(values - largest).sum()))

from math import exp, inf, log1p
from typing import Any, Dict, List, Optional, Tuple

from bidaf_plugin.export.standalone.pieces import Piece
from bidaf_plugin.export.standalone.questions import Record, id_of, passages_of


class BestAnswer:
    """
    The best span for a question, from the pieces of all of its passages. The probabilities are those of
    one softmax over the tokens of all pieces: see `Ranking`.
    """

    def __init__(self) -> None:
        # The logarithms of the sums over the tokens.
        self._log_starts = self._log_ends = -inf
        # The score, and which comes first where scores are equal.
        self._best_key = (-inf, 0, 0)
        self._best: Tuple[Piece, List[int]]

    def add(
        self, piece: Piece, span: List[int], score: float, log_start: float, log_end: float
    ) -> None:
        """What the model says about a piece: see `Prediction`."""
        self._log_starts = _log_add(self._log_starts, log_start + piece.prior / 2)
        self._log_ends = _log_add(self._log_ends, log_end + piece.prior / 2)
        key = score + piece.prior, -piece.passage_index, -piece.first_token
        if key > self._best_key:
            self._best_key = key
            self._best = piece, span

    def add_no_answer(self, start_logit: float, end_logit: float) -> float:
        """
        Makes it one more outcome that there is no answer, after all pieces have been added.

        # Returns

        `float`
            Its probability.
        """
        self._log_starts = _log_add(self._log_starts, start_logit)
        self._log_ends = _log_add(self._log_ends, end_logit)
        return exp(start_logit + end_logit - self._log_starts - self._log_ends)

    def to_json(self, record: Record) -> Dict[str, Any]:
        """The answer to the question of `record`."""
        piece, (first, last) = self._best
        start, end = piece.tokens.starts[first], piece.tokens.ends[last]
        answer: Dict[str, Any] = {
            "id": id_of(record),
            "best_span_str": passages_of(record)[piece.passage_index][start:end],
            "best_span": [piece.first_token + first, piece.first_token + last],
            "best_span_characters": [start, end],
            "confidence": exp(self._best_key[0] - self._log_starts - self._log_ends),
        }
        if record.get("passages") is not None:
            answer["passage_index"] = piece.passage_index
        return answer


def decide(
    answer: Dict[str, Any], no_answer_probability: float, threshold: Optional[float]
) -> Dict[str, Any]:
    """The answer of a model that knows of questions without one: there may be none."""
    if no_answer_probability > (answer["confidence"] if threshold is None else threshold):
        nothing = {name: None for name in answer if name not in ("id", "best_span_str")}
        answer = {**answer, **nothing, "best_span_str": "", "confidence": no_answer_probability}
    return {**answer, "no_answer_probability": no_answer_probability}


def _log_add(first: float, second: float) -> float:
    """`log(exp(first) + exp(second))`"""
    smaller, larger = sorted((first, second))
    return larger + log1p(exp(smaller - larger))

import math
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy

from bidaf_plugin.runtime.answers import answer_key, top_answers
from bidaf_plugin.runtime.records import Answer
from bidaf_plugin.runtime.spans import ranked_spans

# So many answers of a piece are kept at least: what is not the best in any piece may be so in all.
_MIN_ANSWERS_PER_PIECE = 10


class ReadPiece(NamedTuple):
    """
    A piece of a passage, or a whole one, that a model has read.

    passage : `str`
        The whole passage.
    offsets : `numpy.ndarray`
        Shape `(2, num_tokens)`: the first character of each token of the piece in the passage, and one past
        its last.
    passage_index : `int`
        Which of the passages of the question it is of.
    first_token : `int`
        Where in the passage the piece begins.
    prior : `float`
        What is added to the score of every span.
    """

    passage: str
    offsets: numpy.ndarray
    passage_index: int = 0
    first_token: int = 0
    prior: float = 0.0


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
    text: str


class _Place(NamedTuple):
    """A place in which an answer stands: the logarithm of the sum over its spans, and the best of them."""

    score: float
    span: ScoredSpan


class Ranking:
    """
    The answers to a question, from the pieces of all of its passages.

    The probabilities are those of one softmax over the tokens of all pieces, so they compare: `p1_k` is
    `exp(start logit of k + prior / 2)` over the sum of all such numbers, and `p2_l` likewise; where
    the model has a score for no answer, that of the piece with the least is one more summand. The probability of a span is
    `p1_k * p2_l`, that of an answer the sum over the spans that read so, but for case, and for articles and
    punctuation at their ends (see `answer_key`). A place that two pieces share
    counts once, with the better of its scores. An answer counts in the pieces in which it is among
    the best; in a passage of one piece these are all of its spans.

    Memory grows with the number of pieces and not with their length.

    # Parameters

    num_pieces : `int`
        How many are to come.
    n : `int`, optional (default = `None`)
        How many answers are wanted; None if it is the best span alone.
    max_answer_length : `int`, optional (default = `None`)
        In tokens.
    """

    def __init__(
        self, num_pieces: int, n: Optional[int] = None, max_answer_length: Optional[int] = None
    ) -> None:
        self.num_missing = num_pieces
        self._n = n
        self._num_pieces = num_pieces
        self._max_answer_length = max_answer_length
        # The logarithms of the sums over the tokens.
        self._log_starts = self._log_ends = -math.inf
        self._no_answer_logits: Optional[Sequence[float]] = None
        self._best: Optional[ScoredSpan] = None
        # By what they read, then by the passage and the characters of the core.
        self._places: Dict[str, Dict[Tuple[int, int, int], _Place]] = {}

    def add(
        self,
        piece: ReadPiece,
        start_logits: numpy.ndarray,
        end_logits: numpy.ndarray,
        no_answer_logits: Optional[Sequence[float]] = None,
    ) -> None:
        """
        # Parameters

        start_logits, end_logits : `numpy.ndarray`
            Shape `(num_tokens,)`, without padding.
        no_answer_logits : `Sequence[float]`, optional (default = `None`)
            Of start and end, for models that can say that there is no answer.
        """
        if no_answer_logits is not None:
            before = self._no_answer_logits or no_answer_logits
            self._no_answer_logits = min(before, no_answer_logits, key=sum)
        start_logits, end_logits = start_logits + piece.prior / 2, end_logits + piece.prior / 2
        log_starts = float(numpy.logaddexp.reduce(start_logits))
        log_ends = float(numpy.logaddexp.reduce(end_logits))
        self._add_to_sums(log_starts, log_ends)
        starts, ends = start_logits - log_starts, end_logits - log_ends

        def scored(first: int, last: int) -> ScoredSpan:
            start, end = int(piece.offsets[0, first]), int(piece.offsets[1, last])
            tokens = piece.first_token + first, piece.first_token + last
            score = float(start_logits[first] + end_logits[last])
            text = piece.passage[start:end]
            return ScoredSpan(-score, piece.passage_index, start, end, *tokens, text)

        # The best span need not be of one of the best answers, which may stand in several places.
        best = scored(*_best_span(starts, ends, self._max_answer_length))
        self._best = best if self._best is None else min(best, self._best)
        if self._n is not None:
            wanted = self._n if self._num_pieces == 1 else max(self._n, _MIN_ANSWERS_PER_PIECE)
            limits = wanted, self._max_answer_length
            for answer in top_answers(starts, ends, piece.passage, piece.offsets, *limits):
                for occurrence in answer.occurrences:
                    first, last = occurrence.core
                    characters = int(piece.offsets[0, first]), int(piece.offsets[1, last])
                    score = math.log(occurrence.weight) + log_starts + log_ends
                    place = _Place(score, scored(*occurrence.span))
                    places = self._places.setdefault(answer_key(place.span.text), {})
                    key = piece.passage_index, *characters
                    places[key] = max(place, places.get(key, place), key=lambda place: place.score)
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
        return self._probability(start_logit + end_logit)

    def best_span(self) -> Tuple[ScoredSpan, float]:
        """The most probable span and its probability."""
        assert self._best is not None
        return self._best, self._probability(-self._best.negative_score)

    def answers(self) -> List[Answer]:
        """The best answers, the most probable first."""
        answers = []
        for places in self._places.values():
            best = min(place.span for place in places.values())
            probability = math.fsum(self._probability(place.score) for place in places.values())
            answers.append(
                Answer(
                    *(best.text, probability, best.start, best.end),
                    *(best.first_token, best.last_token, best.passage_index),
                )
            )
        # Where probabilities are equal, the order of the pieces must not matter.
        answers.sort(key=lambda item: (-item.probability, item.passage_index, item.start, item.end))
        return answers[: self._n]

    def _probability(self, score: float) -> float:
        return math.exp(score - self._log_starts - self._log_ends)

    def to_record(
        self,
        id: Any,
        is_list: bool,
        no_answer_threshold: Optional[float] = None,
    ) -> Dict[str, Any]:
        """
        The record of the answer, after all pieces have been added.

        # Parameters

        id : `Any`
            Of the question.
        is_list : `bool`
            Whether the passages came as a list, so that the record says which one the answer is from.
        no_answer_threshold : `float`, optional (default = `None`)
            See `no_answer_wins`.
        """
        no_answer_probability = None
        if self._no_answer_logits is not None:
            no_answer_probability = self.add_no_answer(*self._no_answer_logits)
        span, confidence = self.best_span()
        record: Dict[str, Any] = {
            "id": id,
            "best_span_str": span.text,
            "best_span": [span.first_token, span.last_token],
            "best_span_characters": [span.start, span.end],
            "confidence": confidence,
        }
        if is_list:
            record["passage_index"] = span.passage_index
        if no_answer_probability is not None:
            record["no_answer_probability"] = no_answer_probability
            if no_answer_wins(no_answer_probability, confidence, no_answer_threshold):
                record.update(
                    {name: None for name in record if name.startswith(("best", "passage"))},
                    best_span_str="",
                    confidence=no_answer_probability,
                )
        if self._n is not None:
            record["n_best"] = [answer.to_json() for answer in self.answers()]
        return record


def no_answer_wins(probability: Any, confidence: Any, threshold: Optional[float]) -> Any:
    """
    Whether there is no answer, given the probability of this and that of the best span, as numbers or arrays:
    whether it is more probable than the best span, or than the threshold if there is one.
    """
    return probability > (confidence if threshold is None else threshold)


def _best_span(
    start_scores: numpy.ndarray, end_scores: numpy.ndarray, max_length: Optional[int]
) -> Tuple[int, int]:
    """The first and the last (inclusive) token of the best span."""
    tokens = numpy.arange(len(start_scores))
    # Shape: (1, num_tokens) for both
    start_weights, end_weights = numpy.exp([start_scores]), numpy.exp([end_scores])
    spans = ranked_spans(tokens, start_weights, tokens + 1, end_weights, max_length)
    first, end, _ = next(spans)
    return first, end - 1

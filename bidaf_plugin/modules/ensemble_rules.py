"""
How several models answer a question together.
"""

from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy
from allennlp.common import Registrable
from overrides import overrides

from bidaf_plugin.runtime.answers import answer_key
from bidaf_plugin.runtime.spans import ranked_spans

# Stands for the logarithm of 0: far below what a network gives to any token, yet finite, so that
# where no cut is common to all models one that most of them make is still better than others.
_LOG_ZERO = -100.0


class SpanDistribution(NamedTuple):
    """
    What one model has to say about one question. Positions are characters of the passage, so that models
    with different tokenizers can be compared.

    # Parameters

    starts, ends : `numpy.ndarray`
        Shape `(num_tokens,)`: the first character of each token, and one past its last.
    start_log_probs, end_log_probs : `numpy.ndarray`
        Shape `(num_tokens,)`: `log p1` and `log p2`.
    best_span : `Tuple[int, int]`
        The model's own answer: its first character, and one past its last. None if it says that
        there is no answer.
    confidence : `float`
        The probability that the model gives to this.
    max_answer_length : `int`, optional (default = `None`)
        The largest number of tokens of an answer.
    no_answer_log_probs : `Tuple[float, float]`, optional (default = `None`)
        What `log p1` and `log p2` are for the outcome that there is no answer, if the model has it.
    """

    starts: numpy.ndarray
    ends: numpy.ndarray
    start_log_probs: numpy.ndarray
    end_log_probs: numpy.ndarray
    best_span: Optional[Tuple[int, int]]
    confidence: float
    max_answer_length: Optional[int] = None
    no_answer_log_probs: Optional[Tuple[float, float]] = None


class Candidate(NamedTuple):
    """
    What several models may answer together.

    span : `Tuple[int, int]`
        First character, and one past the last; None if there is no answer.
    confidence : `float`
        From 0 to 1.
    """

    span: Optional[Tuple[int, int]]
    confidence: float

    def text(self, passage: str) -> str:
        """The answer, cut from the passage; empty for no answer."""
        return "" if self.span is None else passage[self.span[0] : self.span[1]]


class EnsembleRule(Registrable):
    """
    `p1_m` and `p2_m` are the probabilities that model `m` of `M` gives to the first and to the last token
    of the answer. Tokens are told apart by their first and last characters: a model whose tokenizer makes
    no cut at a character gives it the probability 0. Where all models cut the same way this is the same as
    counting tokens.
    """

    default_implementation = "votes"

    def candidates(self, members: Sequence[SpanDistribution], passage: str) -> Iterator[Candidate]:
        """
        Spans, the best first.

        # Parameters

        members : `Sequence[SpanDistribution]`
            What each model says.
        passage : `str`
            What they say it about.
        """
        raise NotImplementedError

    def no_answer_probability(self, members: Sequence[SpanDistribution]) -> float:
        """How sure the models are that there is no answer; 0 if none of them can say so."""
        raise NotImplementedError

    def best(
        self,
        members: Sequence[SpanDistribution],
        passage: str,
        no_answer_threshold: Optional[float] = None,
    ) -> Candidate:
        """
        The answer: the best span, or none if that is more probable.

        # Parameters

        no_answer_threshold : `float`, optional (default = `None`)
            The answer is none if the probability of that is larger than this number, in place of the
            confidence in the best span.
        """
        no_answer = Candidate(None, self.no_answer_probability(members))
        best = next(self.candidates(members, passage), no_answer)
        threshold = best.confidence if no_answer_threshold is None else no_answer_threshold
        return no_answer if no_answer.confidence > threshold else best


@EnsembleRule.register("votes")
class VotesRule(EnsembleRule):
    """
    The rule of [Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603): each model votes for
    the text of its best span with its confidence, and the text with most votes wins.

    `score(text) = 1/M sum_m [best span of m reads text] * max_{k <= l} p1_m(k) * p2_m(l)`

    A text that occurs in the passage several times is one answer; its span is that of the surest vote.
    No answer is an answer, too; if all models vote for it, the spans behind it are those of `SpansRule`.
    (The paper has the sum; the mean is the same choice, and a confidence.)

    Registered as an `EnsembleRule` with name "votes", the default.
    """

    @overrides
    def candidates(self, members: Sequence[SpanDistribution], passage: str) -> Iterator[Candidate]:
        found: Dict[str, Candidate] = {}
        for member in sorted(members, key=lambda member: -member.confidence):
            if member.best_span is None:
                continue
            text = Candidate(member.best_span, 0.0).text(passage)
            surest = found.get(text, Candidate(member.best_span, 0.0))
            votes = surest.confidence + member.confidence / len(members)
            found[text] = Candidate(surest.span, votes)
        if not found:
            # No model has an answer. Which it would be can still be asked for.
            yield from SpansRule().candidates(members, passage)
        # Of equal ones the surest single vote comes first.
        yield from sorted(found.values(), key=lambda candidate: -candidate.confidence)

    @overrides
    def no_answer_probability(self, members: Sequence[SpanDistribution]) -> float:
        votes = [member.confidence for member in members if member.best_span is None]
        return sum(votes) / len(members)


@EnsembleRule.register("spans")
class SpansRule(EnsembleRule):
    """
    The span that has the largest joint probability on average wins, whether or not it is the best of
    any single model. The authors' code came to this after the paper.

    `score(k, l) = 1/M sum_m p1_m(k) * p2_m(l)`

    No answer is one more start and one more end; models that do not know it give it the probability 0.
    The limit of the answer's length is the smallest of the models'.

    Registered as an `EnsembleRule` with name "spans".
    """

    def _combine(self, probabilities: numpy.ndarray) -> numpy.ndarray:
        """
        # Parameters

        probabilities : `numpy.ndarray`
            Of all starts or of all ends, shape `(num_models, num_positions)`.

        # Returns

        `numpy.ndarray`
            Shape `(num_terms, num_positions)`. The score of a span is the mean over the terms of the
            products of its start and its end.
        """
        return probabilities

    @overrides
    def candidates(self, members: Sequence[SpanDistribution], passage: str) -> Iterator[Candidate]:
        starts, ends = _positions(members)
        # Shape: (num_terms, num_starts + 1) and (num_terms, num_ends + 1)
        start_weights, end_weights = self._weights(members, starts, ends)
        limits = [m.max_answer_length for m in members if m.max_answer_length is not None]
        for start, end, score in ranked_spans(
            starts,
            start_weights[:, :-1] / len(start_weights),
            ends,
            end_weights[:, :-1],
            min(limits, default=None),
        ):
            yield Candidate((start, end), score)

    @overrides
    def no_answer_probability(self, members: Sequence[SpanDistribution]) -> float:
        if all(member.no_answer_log_probs is None for member in members):
            return 0.0
        # Shape: (num_terms, num_starts + 1) and (num_terms, num_ends + 1)
        start_weights, end_weights = self._weights(members, *_positions(members))
        return float((start_weights[:, -1] * end_weights[:, -1]).mean())

    def _weights(
        self, members: Sequence[SpanDistribution], starts: numpy.ndarray, ends: numpy.ndarray
    ) -> Tuple[numpy.ndarray, numpy.ndarray]:
        """What each start and each end weighs, and behind them that there is no answer."""
        start_probs = numpy.zeros((len(members), len(starts) + 1))
        end_probs = numpy.zeros((len(members), len(ends) + 1))
        for row, member in enumerate(members):
            columns = numpy.searchsorted(starts, member.starts)
            start_probs[row, columns] = _exp(member.start_log_probs)
            end_probs[row, numpy.searchsorted(ends, member.ends)] = _exp(member.end_log_probs)
            if member.no_answer_log_probs is not None:
                start_probs[row, -1], end_probs[row, -1] = _exp(member.no_answer_log_probs)
        return self._combine(start_probs), self._combine(end_probs)


def _positions(members: Sequence[SpanDistribution]) -> List[numpy.ndarray]:
    """Where spans can start and where they can end: what is so for one of the models, rising."""
    return [
        numpy.unique(numpy.concatenate([getattr(member, side) for member in members]))
        for side in ("starts", "ends")
    ]


def _exp(log_probs: numpy.typing.ArrayLike) -> numpy.ndarray:
    # In double precision, in which a product of many small probabilities is not 0.
    return numpy.exp(log_probs, dtype=numpy.float64)


@EnsembleRule.register("mean")
class MeanRule(SpansRule):
    """
    The probabilities of the first token and those of the last token are averaged, each for itself, and
    the best span is found as with one model. This is what AllenNLP's own ensemble did.

    `score(k, l) = (1/M sum_m p1_m(k)) * (1/M sum_m p2_m(l))`

    Registered as an `EnsembleRule` with name "mean".
    """

    @overrides
    def _combine(self, probabilities: numpy.ndarray) -> numpy.ndarray:
        # Shape: (1, num_positions)
        return probabilities.mean(axis=0, keepdims=True)


@EnsembleRule.register("product")
class ProductRule(SpansRule):
    """
    The probabilities of the models are multiplied: no model may think little of the answer.

    `score(k, l) = q1(k) * q2(l)`, where `q_i(k) = prod_m p_i_m(k)^(1/M) / Z_i` and `Z_i` makes it a
    distribution.

    (The plain product has the same best span; the root makes a confidence of it.)

    Registered as an `EnsembleRule` with name "product".
    """

    @overrides
    def _combine(self, probabilities: numpy.ndarray) -> numpy.ndarray:
        # Shape: (num_models, num_positions)
        log_probs = numpy.log(
            probabilities, out=numpy.full_like(probabilities, _LOG_ZERO), where=probabilities > 0
        )
        # Shape: (1, num_positions)
        mean = log_probs.mean(axis=0, keepdims=True)
        powers = numpy.exp(mean - mean.max())
        return powers / powers.sum()


def merge_same_texts(candidates: Iterator[Candidate], passage: str, number: int) -> List[Candidate]:
    """
    So many candidates that are different answers, the best first. Those with the same `answer_key` are one, with
    the span of the best and the sum of the confidences of all that come before there is one answer too many.
    """
    found: Dict[str, Candidate] = {}
    for candidate in candidates:
        key = answer_key(candidate.text(passage))
        if key in found:
            total = found[key].confidence + candidate.confidence
            found[key] = found[key]._replace(confidence=total)
        elif len(found) < number:
            found[key] = candidate
        else:
            break
    return sorted(found.values(), key=lambda candidate: -candidate.confidence)

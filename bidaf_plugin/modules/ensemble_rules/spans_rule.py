from typing import Iterator, List, Sequence, Tuple

import numpy
from overrides import overrides

from bidaf_plugin.modules.ensemble_rules.ensemble_rule import Candidate, EnsembleRule
from bidaf_plugin.modules.ensemble_rules.span_distribution import SpanDistribution
from bidaf_plugin.nn.ranked_spans import ranked_spans


@EnsembleRule.register("spans")
class SpansRule(EnsembleRule):
    """
    The span that has the largest joint probability on average wins, whether or not it is the best of
    any single model. The authors' code came to this after the paper.

    `score(k, l) = 1/M sum_m p1_m(k) * p2_m(l)`

    No answer is one more place, as start and as end; models that do not know it give it the
    probability 0. The limit of the answer's length is the smallest of the models'.

    Registered as an `EnsembleRule` with name "spans".
    """

    def _combine(self, probabilities: numpy.ndarray) -> numpy.ndarray:
        """
        # Parameters

        probabilities : `numpy.ndarray`
            Shape `(num_models, num_places)`.

        # Returns

        `numpy.ndarray`
            Shape `(num_terms, num_places)`. The score of a span is the mean over the terms of the
            products of its start and its end.
        """
        return probabilities

    @overrides
    def candidates(self, members: Sequence[SpanDistribution], passage: str) -> Iterator[Candidate]:
        starts, ends = _places(members)
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
        start_weights, end_weights = self._weights(members, *_places(members))
        return float((start_weights[:, -1] * end_weights[:, -1]).mean())

    def _weights(
        self, members: Sequence[SpanDistribution], starts: numpy.ndarray, ends: numpy.ndarray
    ) -> Tuple[numpy.ndarray, numpy.ndarray]:
        start_probs = numpy.zeros((len(members), len(starts) + 1))
        end_probs = numpy.zeros((len(members), len(ends) + 1))
        for row, member in enumerate(members):
            start_probs[row, numpy.searchsorted(starts, member.starts)] = _exp(
                member.start_log_probs
            )
            end_probs[row, numpy.searchsorted(ends, member.ends)] = _exp(member.end_log_probs)
            if member.no_answer_log_probs is not None:
                start_probs[row, -1], end_probs[row, -1] = _exp(member.no_answer_log_probs)
        return self._combine(start_probs), self._combine(end_probs)


def _places(members: Sequence[SpanDistribution]) -> List[numpy.ndarray]:
    """Where spans can start and where they can end: what is so for one of the models, rising."""
    return [
        numpy.unique(numpy.concatenate([getattr(member, side) for member in members]))
        for side in ("starts", "ends")
    ]


def _exp(log_probs: numpy.typing.ArrayLike) -> numpy.ndarray:
    # In double precision, in which a product of many small probabilities is not 0.
    return numpy.exp(log_probs, dtype=numpy.float64)

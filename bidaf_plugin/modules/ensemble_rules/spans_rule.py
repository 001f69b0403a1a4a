from typing import Iterator, Sequence, Tuple

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

    The limit of the answer's length is the smallest of the models'.

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
    def candidates(
        self, members: Sequence[SpanDistribution], passage: str
    ) -> Iterator[Candidate]:
        # Shape: (num_starts,) and (num_models, num_starts)
        starts, start_probs = _by_character(
            [member.starts for member in members], [member.start_log_probs for member in members]
        )
        # Shape: (num_ends,) and (num_models, num_ends)
        ends, end_probs = _by_character(
            [member.ends for member in members], [member.end_log_probs for member in members]
        )
        limits = [m.max_answer_length for m in members if m.max_answer_length is not None]
        # Shape: (num_terms, num_starts) and (num_terms, num_ends)
        start_weights, end_weights = self._combine(start_probs), self._combine(end_probs)
        for start, end, score in ranked_spans(
            starts, start_weights / len(start_weights), ends, end_weights, min(limits, default=None)
        ):
            yield Candidate(start, end, score)


def _by_character(
    places: Sequence[numpy.ndarray], log_probs: Sequence[numpy.ndarray]
) -> Tuple[numpy.ndarray, numpy.ndarray]:
    """All places that one of the models knows, rising, and what each model gives to them."""
    # Shape: (num_places,)
    common = numpy.unique(numpy.concatenate(places))
    # Shape: (num_models, num_places)
    probabilities = numpy.zeros((len(places), len(common)))
    for row, own_places, own_log_probs in zip(probabilities, places, log_probs, strict=True):
        row[numpy.searchsorted(common, own_places)] = numpy.exp(own_log_probs, dtype=numpy.float64)
    return common, probabilities

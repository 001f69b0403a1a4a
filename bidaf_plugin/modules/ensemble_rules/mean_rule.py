import numpy
from overrides import overrides

from bidaf_plugin.modules.ensemble_rules.ensemble_rule import EnsembleRule
from bidaf_plugin.modules.ensemble_rules.spans_rule import SpansRule


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
        # Shape: (1, num_places)
        return probabilities.mean(axis=0, keepdims=True)

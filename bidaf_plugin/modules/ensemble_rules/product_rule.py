import numpy
from overrides import overrides

from bidaf_plugin.modules.ensemble_rules.ensemble_rule import EnsembleRule
from bidaf_plugin.modules.ensemble_rules.spans_rule import SpansRule

# Stands for the logarithm of 0: far below what a network gives to any token, yet finite, so that
# where no cut is common to all models one that most of them make is still better than others.
_LOG_ZERO = -100.0


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
        # Shape: (num_models, num_places)
        log_probs = numpy.log(
            probabilities, out=numpy.full_like(probabilities, _LOG_ZERO), where=probabilities > 0
        )
        # Shape: (1, num_places)
        mean = log_probs.mean(axis=0, keepdims=True)
        # Shape: (1, num_places)
        powers = numpy.exp(mean - mean.max())
        return powers / powers.sum()

from typing import NamedTuple

import numpy
from numpy.typing import ArrayLike

# Resamples at once, which bounds the memory.
_RESAMPLES_AT_ONCE = 1_000


class Difference(NamedTuple):
    """
    How much better the second of two systems is.

    # Parameters

    difference : `float`
        The mean of second - first over the questions.
    low, high : `float`
        The confidence interval.
    p_value : `float`
        Of both sides: how likely a difference of this size is if there is none.
    """

    difference: float
    low: float
    high: float
    p_value: float


def paired_bootstrap(
    first: ArrayLike,
    second: ArrayLike,
    num_resamples: int = 10_000,
    confidence_level: float = 0.95,
    seed: int = 0,
) -> Difference:
    """
    The paired bootstrap of the difference between two systems on the same questions
    ([Efron and Tibshirani, 1993](https://doi.org/10.1201/9780429246593)): the questions are drawn anew,
    with replacement, `num_resamples` times. The interval is that of the percentiles; the p-value is twice
    the share of resamples in which the difference is gone or has changed its sign.

    A resample is drawn as the number of times that each distinct difference occurs in it, which is the
    same as drawing question by question, and much faster: there are few distinct differences.

    # Parameters

    first, second : `ArrayLike`
        The scores of each question, by both systems.
    """
    differences = numpy.asarray(second, dtype=float) - numpy.asarray(first, dtype=float)
    num_questions = len(differences)
    # Differences of F1 that are equal but for rounding errors are one.
    values, counts = numpy.unique(differences.round(12), return_counts=True)
    generator = numpy.random.default_rng(seed)
    means = numpy.concatenate(
        [
            generator.multinomial(
                num_questions,
                counts / num_questions,
                min(_RESAMPLES_AT_ONCE, num_resamples - start),
            )
            @ values
            / num_questions
            for start in range(0, num_resamples, _RESAMPLES_AT_ONCE)
        ]
    )
    tail = 50.0 * (1 - confidence_level)
    low, high = numpy.percentile(means, [tail, 100 - tail])
    num_against = min((means <= 0).sum(), (means >= 0).sum())
    # The data itself counts as one more resample: no finite number of them shows that p is 0.
    p_value = min(1.0, 2 * (num_against + 1) / (num_resamples + 1))
    return Difference(float(differences.mean()), float(low), float(high), float(p_value))

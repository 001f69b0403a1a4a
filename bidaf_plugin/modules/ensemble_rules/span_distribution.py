from typing import NamedTuple, Optional, Tuple

import numpy


class SpanDistribution(NamedTuple):
    """
    What one model has to say about one question. Places are characters of the passage, so that models
    with different tokenizers can be compared.

    # Parameters

    starts : `numpy.ndarray`
        Shape `(num_tokens,)`: the first character of each token.
    ends : `numpy.ndarray`
        Shape `(num_tokens,)`: one past the last character of each token.
    start_log_probs : `numpy.ndarray`
        Shape `(num_tokens,)`: `log p1`.
    end_log_probs : `numpy.ndarray`
        Shape `(num_tokens,)`: `log p2`.
    best_span : `Tuple[int, int]`
        The model's own answer: its first character, and one past its last.
    confidence : `float`
        `p1 * p2` of that answer.
    max_answer_length : `int`, optional (default = `None`)
        The largest number of tokens of an answer.
    no_answer_probability : `float`, optional (default = `None`)
        Of models that know questions without an answer.
    """

    starts: numpy.ndarray
    ends: numpy.ndarray
    start_log_probs: numpy.ndarray
    end_log_probs: numpy.ndarray
    best_span: Tuple[int, int]
    confidence: float
    max_answer_length: Optional[int] = None
    no_answer_probability: Optional[float] = None

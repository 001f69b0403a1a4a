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

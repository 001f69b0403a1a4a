from typing import NamedTuple, Optional

from bidaf_plugin.runtime.pieces import PieceSettings


class AnswerOptions(NamedTuple):
    """
    How questions are answered.

    # Parameters

    pieces : `PieceSettings`
        How long passages are read.
    max_answer_length : `int`
        In tokens; None for no limit.
    no_answer_threshold : `float`
        The probability of no answer above which it is the answer; None for that of the best span. Only
        for models that know of questions without an answer.
    """

    pieces: PieceSettings
    max_answer_length: Optional[int]
    no_answer_threshold: Optional[float]

from typing import NamedTuple

import numpy

from bidaf_plugin.data.tokenizers.lexicon import Lexicon


class TokenTable(NamedTuple):
    """
    The tokens of many texts, one after the other, in columns: 12 bytes per token, where a `Token`
    takes about 200.

    # Parameters

    lexicon : `Lexicon`
    word_numbers : `numpy.ndarray`
        The words, as their numbers in `lexicon`.
    starts : `numpy.ndarray`
        The first character of each token in its text.
    ends : `numpy.ndarray`
        One past the last character of each token in its text.
    """

    lexicon: Lexicon
    word_numbers: numpy.ndarray
    starts: numpy.ndarray
    ends: numpy.ndarray

"""
From words to numbers: rows of indices that depend on nothing but the text of a word. They are found once per
distinct word and kept in a table.
"""

from typing import Any, Callable, Optional, Sequence, Tuple
from zlib import crc32

import numpy

# The index of a word or a character in a vocabulary, also of one that it does not have.
IndexOf = Callable[[str], int]

# What is taken off for the last of the forms of a word, the longest first, so that as much as possible is.
_SUFFIXES = ("ings", "ing", "ied", "ies", "ed", "es", "ly", "s", "e", "y")
_MIN_STEM_LENGTH = 3
NUM_FORMS = 3

# In the place of the forms of a word: a real word that the other text does not have. 0 is padding.
NO_MATCH = 1
# Added for each form of the word that the other text has: as it is, in lower case, without its ending.
_VALUES = (4, 2, 1)


class RowTable:
    """
    The rows of the words of a `Lexicon`, which grows with it.

    # Parameters

    make_rows : `Callable[[Sequence[str]], numpy.ndarray]`
        Gives a row of numbers for each word.
    """

    def __init__(self, make_rows: Callable[[Sequence[str]], numpy.ndarray]) -> None:
        self._make_rows = make_rows
        self._num_words = 0
        self._rows: Optional[numpy.ndarray] = None

    def rows(self, words: Sequence[str]) -> numpy.ndarray:
        """
        The rows of `words`, which are those of the calls before and new ones behind them. One thread at a
        time. Shape: (at least num_words, ...)
        """
        num_words = len(words)
        if self._rows is None:
            self._rows = self._make_rows(words)
        elif num_words > self._num_words:
            new_rows = self._make_rows(words[self._num_words :])
            if num_words > len(self._rows):
                # Twice as large, so that many small additions do not take long.
                larger = numpy.zeros((2 * num_words, *new_rows.shape[1:]), new_rows.dtype)
                larger[: self._num_words] = self._rows[: self._num_words]
                self._rows = larger
            self._rows[self._num_words : num_words] = new_rows
        # Last, so that rows which an interrupt has left unmade are made the next time.
        self._num_words = num_words
        return self._rows


def rows_of_words(words: Sequence[str], index_of: IndexOf, lowercase: bool) -> numpy.ndarray:
    """Shape: (num_words,)"""
    items = map(str.lower, words) if lowercase else words
    return numpy.fromiter(map(index_of, items), dtype=numpy.int32, count=len(words))


def characters_of(words: Sequence[str], max_word_length: int) -> str:
    """Those that are read, with all repetitions."""
    return "".join([word[:max_word_length] for word in words])


def rows_of_characters(
    words: Sequence[str], index_of: IndexOf, max_word_length: int
) -> numpy.ndarray:
    """The indices of so many characters of each word, padded with 0. Shape: (num_words, max_word_length)"""
    index_of_character = {
        character: index_of(character) for character in set(characters_of(words, max_word_length))
    }
    # Shape: (largest code point + 1,)
    index_of_code_point = numpy.zeros(
        max(map(ord, index_of_character), default=0) + 1, dtype=numpy.int32
    )
    for character, index in index_of_character.items():
        index_of_code_point[ord(character)] = index
    # numpy cuts and pads the words, and holds them as code points, with 0 for padding.
    index_of_code_point[0] = 0
    code_points = numpy.array(words, dtype=f"U{max_word_length}").view(numpy.uint32)
    # Shape: (num_words, max_word_length)
    rows = index_of_code_point[code_points.reshape(len(words), max_word_length)]
    if "\0" in index_of_character:
        for row, word in zip(rows, words, strict=True):
            for position, character in enumerate(word[:max_word_length]):
                row[position] = index_of_character[character]
    return rows


def rows_of_forms(words: Sequence[str]) -> numpy.ndarray:
    """
    Three numbers per word by which it is recognised in another text: of the word as it is, in lower case, and
    without its ending. They are checksums of 31 bits. Shape: (num_words, num_forms)
    """
    # Not 0, which is padding.
    rows = [
        [(crc32(form.encode("utf-8", "surrogatepass")) >> 1) or 1 for form in _forms(word)]
        for word in words
    ]
    return numpy.array(rows, dtype=numpy.int32).reshape(len(words), NUM_FORMS)


def _forms(word: str) -> Tuple[str, str, str]:
    lower = word.lower()
    for suffix in _SUFFIXES:
        if lower.endswith(suffix) and len(lower) - len(suffix) >= _MIN_STEM_LENGTH:
            return word, lower, lower.removesuffix(suffix)
    return word, lower, lower


def mark_forms(forms: Any, others: Any) -> Any:
    """
    Which words another text has, too, as arrays or as tensors: in the place of the forms of each word a number
    of `1` to `8`, `1` for a word that the other text does not have, and 0 at padding.

    # Parameters

    forms, others : `Any`
        The forms of the words of both texts, shape `(batch_size, num_words, num_forms)`.

    # Returns

    `Any`
        Shape `(batch_size, num_words)`.
    """
    # Shape: (batch_size, num_words)
    is_word = forms[..., 0] != 0
    marks = is_word * NO_MATCH
    for form, value in enumerate(_VALUES):
        # Shape: (batch_size, num_words, num_others)
        is_same = forms[..., form][:, :, None] == others[..., form][:, None, :]
        marks = marks + value * is_same.any(-1)
    # Padding is the same as padding, but no word.
    return marks * is_word

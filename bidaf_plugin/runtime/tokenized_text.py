from typing import List, NamedTuple

import numpy

from bidaf_plugin.runtime.lexicon import Lexicon


class TokenTable(NamedTuple):
    """
    The tokens of many texts, one after the other, in columns: 12 bytes per token, where an object for each
    would take about 200.

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


class TokenizedText:
    """
    The tokens of a text, as rows of a `TokenTable`. They cannot be changed.

    # Parameters

    text : `str`
        What the tokens were cut from: `text[starts[i] : ends[i]]` is a word.
    table : `TokenTable`
    first_row : `int`
    end_row : `int`
        One past the last row.
    """

    # Not three slices of the table: these would take as much memory as the tokens of a question.
    __slots__ = ["text", "_table", "_first_row", "_end_row"]

    def __init__(self, text: str, table: TokenTable, first_row: int, end_row: int) -> None:
        self.text = text
        self._table = table
        self._first_row = first_row
        self._end_row = end_row

    @property
    def lexicon(self) -> Lexicon:
        return self._table.lexicon

    @property
    def word_numbers(self) -> numpy.ndarray:
        """The words, as their numbers in the lexicon."""
        return self._table.word_numbers[self._first_row : self._end_row]

    @property
    def starts(self) -> numpy.ndarray:
        """The first character of each token."""
        return self._table.starts[self._first_row : self._end_row]

    @property
    def ends(self) -> numpy.ndarray:
        """One past the last character of each token."""
        return self._table.ends[self._first_row : self._end_row]

    def words(self) -> List[str]:
        words = self.lexicon.words
        return [words[number] for number in self.word_numbers.tolist()]

    def part(self, first: int, end: int) -> "TokenizedText":
        """Some of the tokens, of which `end` is one past the last; their offsets stay."""
        first_row = self._first_row + first
        return type(self)(self.text, self._table, first_row, max(first_row, self._first_row + end))

    def __len__(self) -> int:
        return self._end_row - self._first_row

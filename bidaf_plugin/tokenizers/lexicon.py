from typing import Any, Dict, Iterable, List

import numpy


class Lexicon:
    """
    The distinct words of many texts, numbered in the order in which they were met.

    A text then is an array of numbers, and what belongs to a word alone, such as the ids of its
    characters, is found once per distinct word and looked up from a table.

    # Attributes

    words : `List[str]`
        The word of each number.
    tables : `Dict[Any, Any]`
        What token indexers have found for the words, by the settings of the indexer.
    """

    def __init__(self, words: Iterable[str] = ()) -> None:
        self.words: List[str] = []
        self.tables: Dict[Any, Any] = {}
        self._number_of_word: Dict[str, int] = {}
        for word in words:
            self.number(word)

    def __len__(self) -> int:
        return len(self.words)

    def number(self, word: str) -> int:
        """The number of a word, which is taken in if it is new."""
        number = self._number_of_word.setdefault(word, len(self.words))
        if number == len(self.words):
            self.words.append(word)
        return number

    def numbers(self, words: Iterable[str]) -> numpy.ndarray:
        return numpy.fromiter(map(self.number, words), dtype=numpy.int32)

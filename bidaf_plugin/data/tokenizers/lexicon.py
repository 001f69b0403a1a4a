from typing import Any, Dict, Iterable, List

import numpy

from bidaf_plugin.data.tokenizers.tables_lock import TABLES_LOCK


class Lexicon:
    """
    The distinct words of many texts, numbered in the order in which they were met.

    A text then is an array of numbers, and what belongs to a word alone, such as the ids of its
    characters, is found once per distinct word and looked up from a table. Several threads may ask for
    numbers at the same time.

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
        self.numbers(words)

    def __len__(self) -> int:
        return len(self.words)

    def number(self, word: str) -> int:
        """The number of a word, which is taken in if it is new."""
        with TABLES_LOCK:
            return self.take_in(word)

    def numbers(self, words: Iterable[str]) -> numpy.ndarray:
        # Where the words come from may take its time.
        words = list(words)
        with TABLES_LOCK:
            return numpy.fromiter(map(self.take_in, words), numpy.int32, len(words))

    def take_in(self, word: str) -> int:
        """The same as `number`, for threads that hold the lock."""
        number = self._number_of_word.get(word)
        if number is None:
            number = len(self.words)
            # In this order: if an interrupt comes between, the word has one more number, which is not used.
            self.words.append(word)
            self._number_of_word[word] = number
        return number

"""
The distinct words of many texts, and the lock of all tables of words.
"""

import os
from threading import RLock
from typing import Any, Dict, Iterable, List

import numpy

# Tables of words grow while they are read, so that one thread at a time may use them. One lock serves
# all, because work on tables is Python's own and hence never parallel; and because it belongs to no
# object, tokenizers, lexicons and indexers can be pickled and copied. It can be taken again by the
# thread that has it: a table of chunks uses a lexicon.
TABLES_LOCK = RLock()

# A process is forked while no other thread holds the lock. Otherwise the child would wait for ever, and
# its tables would be as that thread had left them. (Not every system has forks.)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=TABLES_LOCK.acquire,
        after_in_parent=TABLES_LOCK.release,
        after_in_child=TABLES_LOCK.release,
    )


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

    def numbers(self, words: Iterable[str]) -> numpy.ndarray:
        """The number of each word. New words are added."""
        # Before the lock is taken: where the words come from may take its time.
        words = list(words)
        with TABLES_LOCK:
            return numpy.fromiter(map(self.number, words), numpy.int32, len(words))

    def number(self, word: str) -> int:
        """The number of one word, for threads that hold the lock."""
        number = self._number_of_word.get(word)
        if number is None:
            number = len(self.words)
            # In this order: if an interrupt comes between, the word has one more number, which is not used.
            self.words.append(word)
            self._number_of_word[word] = number
        return number

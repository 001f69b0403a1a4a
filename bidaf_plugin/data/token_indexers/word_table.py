from typing import Callable, Optional, Sequence

import numpy
from allennlp.data import Vocabulary

MakeRows = Callable[[Sequence[str], Vocabulary], numpy.ndarray]


class WordTable:
    """
    What a `WordIndexer` has found for the words of a `Lexicon`: a row of indices per word. It grows
    with the lexicon, and holds for a vocabulary at the size that it had.
    """

    def __init__(self, vocabulary: Vocabulary, vocabulary_size: int) -> None:
        self._made_with = (vocabulary, vocabulary_size)
        self._num_words = 0
        self._rows: Optional[numpy.ndarray] = None

    def holds_for(self, vocabulary: Vocabulary, vocabulary_size: int) -> bool:
        made_with_vocabulary, made_with_size = self._made_with
        return made_with_vocabulary is vocabulary and made_with_size == vocabulary_size

    def rows(self, words: Sequence[str], make_rows: MakeRows) -> numpy.ndarray:
        """
        The rows of `words`, which are those of the calls before and new ones behind them. One thread at a
        time.
        """
        num_words = len(words)
        if self._rows is None:
            self._rows = make_rows(words, self._made_with[0])
        elif num_words > self._num_words:
            new_rows = make_rows(words[self._num_words :], self._made_with[0])
            if num_words > len(self._rows):
                # Twice as large, so that many small additions do not take long.
                larger = numpy.zeros((2 * num_words, *new_rows.shape[1:]), new_rows.dtype)
                larger[: self._num_words] = self._rows[: self._num_words]
                self._rows = larger
            self._rows[self._num_words : num_words] = new_rows
        # Last, so that rows which an interrupt has left unmade are made the next time.
        self._num_words = num_words
        return self._rows

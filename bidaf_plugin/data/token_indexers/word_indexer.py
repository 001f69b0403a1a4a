"""
What token indexers have in common whose indices depend on nothing but the text of a word. They are found once per
distinct word and kept in a table.
"""

from collections import Counter
from functools import partial
from typing import Callable, Dict, Hashable, Iterable, List, Sequence, Tuple

import numpy
import torch
from allennlp.data import Token, TokenIndexer, Vocabulary
from allennlp.data.token_indexers.token_indexer import IndexedTokenList
from overrides import overrides

from bidaf_plugin.data.tokenizers import Lexicon, TextTokens
from bidaf_plugin.runtime.lexicon import TABLES_LOCK
from bidaf_plugin.runtime.word_rows import RowTable

Counts = Dict[str, Dict[str, int]]
# Words of plain lists of tokens that are remembered before the memory is emptied: a server meets new ones for
# ever.
_MAX_WORDS = 500_000


def words_of(tokens: Sequence[Token]) -> List[str]:
    """The texts of tokens, which need not be made for that."""
    if isinstance(tokens, TextTokens):
        return tokens.words()
    return [token.ensure_text() for token in tokens]


class WordIndexer(TokenIndexer):
    """
    The indices of the distinct words of a `Lexicon` are kept in a table, from which those of a text are
    taken in one step.

    # Parameters

    namespace : `str`
        The vocabulary namespace.
    output_name : `str`
        The name of the tensor, which is the name of an argument of the token embedder.
    row_shape : `Tuple[int, ...]`, optional (default = `()`)
        The shape of the indices of one word.
    settings : `Tuple[Hashable, ...]`, optional (default = `()`)
        What else the indices depend on, besides word and vocabulary.
    first_words : `Iterable[str]`, optional (default = `()`)
        What is in the first rows of the table for tokens that come as a plain list.
    """

    def __init__(
        self,
        namespace: str,
        output_name: str,
        row_shape: Tuple[int, ...] = (),
        settings: Tuple[Hashable, ...] = (),
        first_words: Iterable[str] = (),
    ) -> None:
        super().__init__()
        self._namespace = namespace
        self.output_name = output_name
        self._row_shape = row_shape
        self._table_key = (type(self).__name__, namespace, row_shape, *settings)
        self._first_words = tuple(first_words)
        # For tokens that come as a plain list.
        self._lexicon = Lexicon(self._first_words)

    def _items(self, words: Sequence[str]) -> Iterable[str]:
        """The vocabulary items of words, with all repetitions."""
        raise NotImplementedError

    def _make_rows(self, words: Sequence[str], vocabulary: Vocabulary) -> numpy.ndarray:
        """The indices of each word. Shape: (num_words, ...)"""
        raise NotImplementedError

    def words(self, tokens: Sequence[Token]) -> List[str]:
        """The words of tokens."""
        return words_of(tokens)

    def count_words(self, words: Sequence[str], counter: Counts) -> None:
        """Adds the vocabulary items of all words to `counter`."""
        total = counter[self._namespace]
        for item, count in Counter(self._items(words)).items():
            total[item] += count

    def table(self, lexicon: Lexicon, vocabulary: Vocabulary) -> numpy.ndarray:
        """The indices of all words of a lexicon. Shape: (at least num_words, ...)"""
        vocabulary_size = vocabulary.get_vocab_size(self._namespace)
        with TABLES_LOCK:
            table = lexicon.tables.get(self._table_key)
            if table is None or not table.holds_for(vocabulary, vocabulary_size):
                make_rows = partial(self._make_rows, vocabulary=vocabulary)
                table = WordTable(make_rows, vocabulary, vocabulary_size)
                lexicon.tables[self._table_key] = table
            return table.rows(lexicon.words)

    @overrides
    def count_vocab_items(self, token: Token, counter: Counts) -> None:
        self.count_words(self.words([token]), counter)

    @overrides(check_signature=False)
    def tokens_to_indices(  # type: ignore[override]
        self, tokens: Sequence[Token], vocabulary: Vocabulary
    ) -> Dict[str, numpy.ndarray]:
        if isinstance(tokens, TextTokens):
            lexicon, word_numbers = tokens.lexicon, tokens.word_numbers
        else:
            if len(self._lexicon) >= _MAX_WORDS:
                self._lexicon = Lexicon(self._first_words)
            lexicon = self._lexicon
            word_numbers = lexicon.numbers(self.words(tokens))
        return {self.output_name: self.table(lexicon, vocabulary).take(word_numbers, axis=0)}

    @overrides
    def get_empty_token_list(self) -> IndexedTokenList:
        return {self.output_name: []}

    @overrides
    def as_padded_tensor_dict(
        self, tokens: IndexedTokenList, padding_lengths: Dict[str, int]
    ) -> Dict[str, torch.Tensor]:
        num_tokens = padding_lengths[self.output_name]
        indices = tokens[self.output_name][:num_tokens]
        # Shape: (num_tokens, ...)
        padded = numpy.zeros((num_tokens, *self._row_shape), dtype=numpy.int64)
        if len(indices):
            padded[: len(indices)] = indices
        return {self.output_name: torch.from_numpy(padded)}


class WordTable(RowTable):
    """
    What a `WordIndexer` has found for the words of a `Lexicon`. It holds for a vocabulary at the size that it had.
    """

    def __init__(
        self,
        make_rows: Callable[[Sequence[str]], numpy.ndarray],
        vocabulary: Vocabulary,
        vocabulary_size: int,
    ) -> None:
        super().__init__(make_rows)
        self._vocabulary = vocabulary
        self._vocabulary_size = vocabulary_size

    def holds_for(self, vocabulary: Vocabulary, vocabulary_size: int) -> bool:
        return self._vocabulary is vocabulary and self._vocabulary_size == vocabulary_size

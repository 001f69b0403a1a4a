from collections import Counter
from typing import Any, Dict, Iterable, Sequence, Tuple

import numpy
import torch
from allennlp.data import Token, TokenIndexer, Vocabulary
from allennlp.data.token_indexers.token_indexer import IndexedTokenList
from overrides import overrides

from bidaf_plugin.data.token_indexers.word_table import WordTable
from bidaf_plugin.data.tokenizers import Lexicon, TextTokens
from bidaf_plugin.data.tokenizers.tables_lock import TABLES_LOCK

Counts = Dict[str, Dict[str, int]]
# Words of plain lists of tokens that are remembered before the memory is emptied.
_MAX_WORDS = 500_000


class WordIndexer(TokenIndexer):
    """
    A token indexer whose indices depend on nothing but the text of a word. They are found once per
    distinct word of a `Lexicon` and kept in a table, from which the indices of a text are taken in
    one step.

    # Parameters

    namespace : `str`
        The vocabulary namespace.
    output_name : `str`
        The name of the tensor, which is the name of an argument of the token embedder.
    row_shape : `Tuple[int, ...]`, optional (default = `()`)
        The shape of the indices of one word.
    """

    def __init__(self, namespace: str, output_name: str, row_shape: Tuple[int, ...] = ()) -> None:
        super().__init__()
        self._namespace = namespace
        self.output_name = output_name
        self._row_shape = row_shape
        # For tokens that come as a plain list.
        self._lexicon = Lexicon()

    def _items(self, words: Sequence[str]) -> Iterable[str]:
        """The vocabulary items of words, with all repetitions."""
        raise NotImplementedError

    def _make_rows(self, words: Sequence[str], vocabulary: Vocabulary) -> numpy.ndarray:
        """The indices of each word. Shape: (num_words, ...)"""
        raise NotImplementedError

    def _settings(self) -> Tuple[Any, ...]:
        """What the indices depend on, besides word and vocabulary."""
        raise NotImplementedError

    def count_words(self, words: Sequence[str], counter: Counts) -> None:
        """Adds the vocabulary items of all words to `counter`."""
        total = counter[self._namespace]
        for item, count in Counter(self._items(words)).items():
            total[item] += count

    def table(self, lexicon: Lexicon, vocabulary: Vocabulary) -> numpy.ndarray:
        """The indices of all words of a lexicon. Shape: (at least num_words, ...)"""
        settings = self._settings()
        vocabulary_size = vocabulary.get_vocab_size(self._namespace)
        with TABLES_LOCK:
            table = lexicon.tables.get(settings)
            if table is None or not table.holds_for(vocabulary, vocabulary_size):
                table = lexicon.tables[settings] = WordTable(vocabulary, vocabulary_size)
            return table.rows(lexicon.words, self._make_rows)

    @overrides
    def count_vocab_items(self, token: Token, counter: Counts) -> None:
        total = counter[self._namespace]
        for item in self._items([token.ensure_text()]):
            total[item] += 1

    @overrides(check_signature=False)
    def tokens_to_indices(  # type: ignore[override]
        self, tokens: Sequence[Token], vocabulary: Vocabulary
    ) -> Dict[str, numpy.ndarray]:
        if isinstance(tokens, TextTokens):
            lexicon, word_numbers = tokens.lexicon, tokens.word_numbers
        else:
            if len(self._lexicon) >= _MAX_WORDS:
                self._lexicon = Lexicon()
            lexicon = self._lexicon
            word_numbers = lexicon.numbers(token.ensure_text() for token in tokens)
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

"""
Token indexers whose indices depend on nothing but the text of a word. They are found once per distinct
word and kept in a table.
"""

from collections import Counter
from functools import partial
from typing import Any, Callable, Dict, Iterable, Sequence, Tuple

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token, TokenIndexer, Vocabulary
from allennlp.data.token_indexers.token_indexer import IndexedTokenList
from overrides import overrides

from bidaf_plugin.data.tokenizers import Lexicon, TextTokens
from bidaf_plugin.runtime.lexicon import TABLES_LOCK
from bidaf_plugin.runtime.word_rows import (
    NUM_FORMS,
    RowTable,
    characters_of,
    rows_of_characters,
    rows_of_forms,
    rows_of_words,
)

Counts = Dict[str, Dict[str, int]]
# Words of plain lists of tokens that are remembered before the memory is emptied.
_MAX_WORDS = 500_000


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
                make_rows = partial(self._make_rows, vocabulary=vocabulary)
                table = lexicon.tables[settings] = WordTable(make_rows, vocabulary, vocabulary_size)
            return table.rows(lexicon.words)

    @overrides
    def count_vocab_items(self, token: Token, counter: Counts) -> None:
        self.count_words([token.ensure_text()], counter)

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


@TokenIndexer.register("word_id")
class WordIdIndexer(WordIndexer):
    """
    One index per word, as AllenNLP's `single_id` gives it.

    Registered as a `TokenIndexer` with name "word_id".

    # Parameters

    namespace : `str`, optional (default = `"tokens"`)
        The vocabulary namespace of the words.
    lowercase_tokens : `bool`, optional (default = `False`)
    """

    def __init__(self, namespace: str = "tokens", lowercase_tokens: bool = False) -> None:
        super().__init__(namespace, output_name="tokens")
        self._lowercase_tokens = lowercase_tokens

    @overrides
    def _items(self, words: Sequence[str]) -> Iterable[str]:
        return map(str.lower, words) if self._lowercase_tokens else words

    @overrides
    def _make_rows(self, words: Sequence[str], vocabulary: Vocabulary) -> numpy.ndarray:
        index_of = partial(vocabulary.get_token_index, namespace=self._namespace)
        return rows_of_words(words, index_of, self._lowercase_tokens)

    @overrides
    def _settings(self) -> Tuple[Any, ...]:
        return "word_id", self._namespace, self._lowercase_tokens


@TokenIndexer.register("word_characters")
class WordCharactersIndexer(WordIndexer):
    """
    The characters of each word, for the character embedding layer of
    [Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603): cased, and cut or padded to a
    fixed number, 16 in the authors' code.

    It gives what AllenNLP's `TokenCharactersIndexer` gives, for words of one fixed width.

    Registered as a `TokenIndexer` with name "word_characters".

    # Parameters

    namespace : `str`, optional (default = `"token_characters"`)
        The vocabulary namespace of the characters.
    max_word_length : `int`, optional (default = `16`)
        Characters of a word beyond this many are not read.
    """

    def __init__(self, namespace: str = "token_characters", max_word_length: int = 16) -> None:
        if max_word_length < 1:
            raise ConfigurationError(f"max_word_length must be 1 or more, not {max_word_length}")
        super().__init__(namespace, "token_characters", row_shape=(max_word_length,))
        self._max_word_length = max_word_length

    @overrides
    def _items(self, words: Sequence[str]) -> Iterable[str]:
        return characters_of(words, self._max_word_length)

    @overrides
    def _make_rows(self, words: Sequence[str], vocabulary: Vocabulary) -> numpy.ndarray:
        index_of = partial(vocabulary.get_token_index, namespace=self._namespace)
        return rows_of_characters(words, index_of, self._max_word_length)

    @overrides
    def _settings(self) -> Tuple[Any, ...]:
        return "word_characters", self._namespace, self._max_word_length


@TokenIndexer.register("word_forms")
class WordFormsIndexer(WordIndexer):
    """
    Three numbers per word by which it is recognised in the other text of a question and its passage: of the
    word as it is, in lower case, and without its ending. The model compares them (see `mark_matches`), so
    that an embedder is told which words the two texts share, also words that no vocabulary has. The numbers
    are checksums of 31 bits, hence the same everywhere, and different for words that differ but for chance.

    After the features of [DrQA](https://arxiv.org/abs/1704.00051) (Chen et al., 2017).

    Registered as a `TokenIndexer` with name "word_forms".
    """

    def __init__(self) -> None:
        super().__init__("tokens", output_name="tokens", row_shape=(NUM_FORMS,))

    @overrides
    def _items(self, words: Sequence[str]) -> Iterable[str]:
        return ()

    @overrides
    def _make_rows(self, words: Sequence[str], vocabulary: Vocabulary) -> numpy.ndarray:
        return rows_of_forms(words)

    @overrides
    def _settings(self) -> Tuple[Any, ...]:
        return ("word_forms",)

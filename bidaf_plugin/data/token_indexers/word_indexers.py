"""
The kinds of `WordIndexer`.
"""

from functools import partial
from typing import Iterable, List, Sequence

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token, TokenIndexer, Vocabulary
from overrides import overrides

from bidaf_plugin.data.token_indexers.word_indexer import Counts, WordIndexer
from bidaf_plugin.runtime.word_rows import (
    NUM_FORMS,
    characters_of,
    rows_of_characters,
    rows_of_forms,
    rows_of_words,
)

# The vocabulary entry of the gap of a cloze question.
PLACEHOLDER_NAME = "@@PLACEHOLDER@@"
# How often each name of an entity is counted, so that no `min_count` leaves it out.
_ALWAYS = 1 << 40


def entity_name(number: int) -> str:
    """The vocabulary entry of an entity."""
    return f"@@ENTITY{number}@@"


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
        super().__init__(namespace, output_name="tokens", settings=(lowercase_tokens,))
        self._lowercase_tokens = lowercase_tokens

    @overrides
    def _items(self, words: Sequence[str]) -> Iterable[str]:
        return map(str.lower, words) if self._lowercase_tokens else words

    @overrides
    def _make_rows(self, words: Sequence[str], vocabulary: Vocabulary) -> numpy.ndarray:
        index_of = partial(vocabulary.get_token_index, namespace=self._namespace)
        return rows_of_words(words, index_of, self._lowercase_tokens)


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


@TokenIndexer.register("cloze_words")
class ClozeWordsIndexer(WordIndexer):
    """
    One number for each word of a cloze question, like AllenNLP's `single_id`, with vocabulary entries
    for the anonymous entities: `@@ENTITY0@@`, `@@ENTITY1@@`, ... and `@@PLACEHOLDER@@`.

    They are in every vocabulary that this indexer counts for, whatever `min_count` says. No word of a
    text becomes one of them, since words are lower-cased, and no file of word vectors has a row for
    them, so their vectors are always trained.

    The entity of a token stands in its `ent_type_`; its text is the same for all entities, so that no
    other indexer (`word_characters`) can tell one from another.

    Registered as a `TokenIndexer` with name "cloze_words".

    # Parameters

    namespace : `str`, optional (default = `"tokens"`)
    num_entities : `int`, optional (default = `600`)
        How many names there are to give to the entities of a question; the authors have 600, and the
        richest article of CNN has 527 entities. (If a question has more, some share a name.)
    """

    def __init__(self, namespace: str = "tokens", num_entities: int = 600) -> None:
        if num_entities < 1:
            raise ConfigurationError(f"num_entities must be 1 or more, not {num_entities}")
        names = [PLACEHOLDER_NAME, *map(entity_name, range(num_entities))]
        super().__init__(namespace, "tokens", first_words=names)
        self._num_entities = num_entities
        self._names = frozenset(names)

    @overrides
    def words(self, tokens: Sequence[Token]) -> List[str]:
        return [token.ent_type_ or token.ensure_text().lower() for token in tokens]

    @overrides
    def count_words(self, words: Sequence[str], counter: Counts) -> None:
        super().count_words([word for word in words if word not in self._names], counter)
        counts = counter[self._namespace]
        # Every question has a placeholder.
        if PLACEHOLDER_NAME in words and PLACEHOLDER_NAME not in counts:
            counts.update(dict.fromkeys(self._first_words, _ALWAYS))

    def entity_rows(self, vocabulary: Vocabulary) -> torch.Tensor:
        """The index of each name of an entity. Shape: (num_entities,)"""
        table = self.table(self._lexicon, vocabulary)
        return torch.from_numpy(table[1 : 1 + self._num_entities]).long()

    @overrides
    def _items(self, words: Sequence[str]) -> Iterable[str]:
        return words

    @overrides
    def _make_rows(self, words: Sequence[str], vocabulary: Vocabulary) -> numpy.ndarray:
        known = vocabulary.get_token_to_index_vocabulary(self._namespace)
        for word in words:
            if word in self._names and word not in known:
                raise ConfigurationError(
                    f"the vocabulary lacks {word!r} in the namespace {self._namespace!r}: it must be "
                    "made from instances of the reader 'bidaf_cloze' with the indexer 'cloze_words' and "
                    f"'num_entities' of at least {self._num_entities}, and without "
                    "'only_include_pretrained_words'"
                )
        # Shape: (num_words,)
        return _indices(words, vocabulary, self._namespace)


def _indices(items: Iterable[str], vocabulary: Vocabulary, namespace: str) -> numpy.ndarray:
    indices = [vocabulary.get_token_index(item, namespace) for item in items]
    return numpy.array(indices, dtype=numpy.int32)

from typing import Any, Iterable, Sequence, Tuple

import numpy
from allennlp.common.checks import ConfigurationError
from allennlp.data import TokenIndexer, Vocabulary
from overrides import overrides

from bidaf_plugin.data.token_indexers.word_indexer import WordIndexer


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
        return "".join([word[: self._max_word_length] for word in words])

    @overrides
    def _make_rows(self, words: Sequence[str], vocabulary: Vocabulary) -> numpy.ndarray:
        index_of_character = {
            character: vocabulary.get_token_index(character, self._namespace)
            for character in set(self._items(words))
        }
        # Shape: (largest code point + 1,)
        index_of_code_point = numpy.zeros(
            max(map(ord, index_of_character), default=0) + 1, dtype=numpy.int32
        )
        for character, index in index_of_character.items():
            index_of_code_point[ord(character)] = index
        # numpy cuts and pads the words, and holds them as code points, with 0 for padding.
        index_of_code_point[0] = 0
        code_points = numpy.array(words, dtype=f"U{self._max_word_length}").view(numpy.uint32)
        # Shape: (num_words, max_word_length)
        rows = index_of_code_point[code_points.reshape(len(words), self._max_word_length)]
        if "\0" in index_of_character:
            for row, word in zip(rows, words, strict=True):
                for position, character in enumerate(word[: self._max_word_length]):
                    row[position] = index_of_character[character]
        return rows

    @overrides
    def _settings(self) -> Tuple[Any, ...]:
        return "word_characters", self._namespace, self._max_word_length

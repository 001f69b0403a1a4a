from typing import Dict, List, Tuple

import numpy
import torch
from allennlp.data import Token, TokenIndexer, Vocabulary
from allennlp.data.token_indexers.token_indexer import IndexedTokenList
from overrides import overrides


@TokenIndexer.register("word_characters")
class WordCharactersIndexer(TokenIndexer):
    """
    The characters of each word, for the character embedding layer of
    [Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603): cased, and cut or padded to a
    fixed number, 16 in the authors' code.

    It gives what AllenNLP's `TokenCharactersIndexer` gives, for words of one fixed width: a row of
    character ids is made once per distinct word and then shared by all of its occurrences, which
    saves most of the time and the memory that indexing takes.

    Registered as a `TokenIndexer` with name "word_characters".

    # Parameters

    namespace : `str`, optional (default = `"token_characters"`)
        The vocabulary namespace of the characters.
    max_word_length : `int`, optional (default = `16`)
        Characters of a word beyond this many are not read.
    """

    def __init__(self, namespace: str = "token_characters", max_word_length: int = 16) -> None:
        super().__init__()
        self._namespace = namespace
        self._max_word_length = max_word_length
        self._row_of_word: Dict[str, numpy.ndarray] = {}
        # The rows hold for this vocabulary at this size of the namespace.
        self._rows_made_with: Tuple[int, int] = (0, 0)

    @overrides
    def count_vocab_items(self, token: Token, counter: Dict[str, Dict[str, int]]) -> None:
        counts = counter[self._namespace]
        for character in token.ensure_text()[: self._max_word_length]:
            counts[character] += 1

    @overrides
    def tokens_to_indices(
        self, tokens: List[Token], vocabulary: Vocabulary
    ) -> Dict[str, List[numpy.ndarray]]:
        made_with = (id(vocabulary), vocabulary.get_vocab_size(self._namespace))
        if made_with != self._rows_made_with:
            self._row_of_word = {}
            self._rows_made_with = made_with
        rows = []
        for token in tokens:
            word = token.ensure_text()
            row = self._row_of_word.get(word)
            if row is None:
                row = self._row_of_word[word] = self._make_row(word, vocabulary)
            rows.append(row)
        return {"token_characters": rows}

    def _make_row(self, word: str, vocabulary: Vocabulary) -> numpy.ndarray:
        row = numpy.zeros(self._max_word_length, dtype=numpy.int64)
        for position, character in enumerate(word[: self._max_word_length]):
            row[position] = vocabulary.get_token_index(character, self._namespace)
        return row

    @overrides
    def get_empty_token_list(self) -> IndexedTokenList:
        return {"token_characters": []}

    @overrides
    def as_padded_tensor_dict(
        self, tokens: IndexedTokenList, padding_lengths: Dict[str, int]
    ) -> Dict[str, torch.Tensor]:
        rows = tokens["token_characters"]
        # Shape: (num_tokens, max_word_length)
        padded = numpy.zeros(
            (padding_lengths["token_characters"], self._max_word_length), dtype=numpy.int64
        )
        if rows:
            padded[: len(rows)] = rows
        return {"token_characters": torch.from_numpy(padded)}

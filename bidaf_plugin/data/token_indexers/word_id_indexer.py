from typing import Any, Iterable, Sequence, Tuple

import numpy
from allennlp.data import TokenIndexer, Vocabulary
from overrides import overrides

from bidaf_plugin.data.token_indexers.word_indexer import WordIndexer


@TokenIndexer.register("word_id")
class WordIdIndexer(WordIndexer):
    """
    One index per word, as AllenNLP's `single_id` gives it, from the table of a `WordIndexer`.

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
        indices = (vocabulary.get_token_index(item, self._namespace) for item in self._items(words))
        # Shape: (num_words,)
        return numpy.fromiter(indices, dtype=numpy.int32, count=len(words))

    @overrides
    def _settings(self) -> Tuple[Any, ...]:
        return "word_id", self._namespace, self._lowercase_tokens

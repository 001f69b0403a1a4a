from typing import Any, Iterable, Sequence, Tuple
from zlib import crc32

import numpy
from allennlp.data import TokenIndexer, Vocabulary
from overrides import overrides

from bidaf_plugin.data.token_indexers.word_indexer import WordIndexer

# The longest first, so that as much as possible is taken off.
_SUFFIXES = ("ings", "ing", "ied", "ies", "ed", "es", "ly", "s", "e", "y")
_MIN_STEM_LENGTH = 3
NUM_FORMS = 3


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
        rows = [[_number(form) for form in _forms(word)] for word in words]
        # Shape: (num_words, num_forms)
        return numpy.array(rows, dtype=numpy.int32).reshape(len(words), NUM_FORMS)

    @overrides
    def _settings(self) -> Tuple[Any, ...]:
        return ("word_forms",)


def _forms(word: str) -> Tuple[str, str, str]:
    lower = word.lower()
    for suffix in _SUFFIXES:
        if lower.endswith(suffix) and len(lower) - len(suffix) >= _MIN_STEM_LENGTH:
            return word, lower, lower.removesuffix(suffix)
    return word, lower, lower


def _number(form: str) -> int:
    # Not 0, which is padding.
    return (crc32(form.encode("utf-8", "surrogatepass")) >> 1) or 1

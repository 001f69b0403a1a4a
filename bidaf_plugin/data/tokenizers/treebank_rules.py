from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Dict, Iterator, List, cast

from bidaf_plugin.data.tokenizers.word_cutter import PlainChunks

if TYPE_CHECKING:
    from spacy.tokenizer import Tokenizer


@lru_cache(maxsize=1)
def load_spacy_tokenizer() -> "Tokenizer":
    """spaCy's English rule tokenizer, which needs no model to be downloaded."""
    import spacy

    return cast("Tokenizer", spacy.blank("en").tokenizer)


def find_special_cases(tokenizer: "Tokenizer") -> Dict[str, List[str]]:
    """The strings that a tokenizer of spaCy has pieces for: "don't", "Mr.", ":)"."""
    from spacy.symbols import ORTH

    return {case: [piece[ORTH] for piece in pieces] for case, pieces in tokenizer.rules.items()}


@contextmanager
def forgotten_words() -> Iterator[None]:
    """spaCy remembers every word it meets; those that it meets meanwhile it does not."""
    with load_spacy_tokenizer().vocab.memory_zone():
        yield


class TreebankRules:
    """
    The Penn Treebank rules of spaCy's English rule tokenizer. Chunks that are plain enough are not sent
    through it: see `PlainChunks`. The results are the same.
    """

    def __init__(self) -> None:
        self._spacy_tokenizer = load_spacy_tokenizer()
        self._plain_chunks = PlainChunks(find_special_cases(self._spacy_tokenizer))

    def cut(self, chunk: str) -> List[str]:
        """The words of a chunk, which is text without blanks. Joined, they are the chunk again."""
        words = self._plain_chunks.cut(chunk)
        if words is None:
            return [token.text for token in self._spacy_tokenizer(chunk)]
        return words

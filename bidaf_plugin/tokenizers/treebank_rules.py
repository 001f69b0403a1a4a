import re
from functools import lru_cache
from itertools import accumulate
from typing import List, Optional, Set, cast

import spacy

_OPENING = "\"'(\\[“‘$£€"
_CLOSING = ",;:?!)\\]\"'”’"
_JOINT = "[-–—/]"
_WORD = r"(?:[^\W\d_]+\d*|\d+(?:[.,]\d+)*(?:s|st|nd|rd|th)?)"
# Chunks of which the result is known: marks, a word or number (or several, joined), a possessive, marks.
_PLAIN_CHUNK = re.compile(
    rf"""
    ([{_OPENING}]*)
    ({_WORD}(?:(?<=[A-Za-z0-9]){_JOINT}(?=[A-Za-z0-9]){_WORD})*)
    ('s|’s)?
    ((?:[{_CLOSING}]|(?<=\d)%|(?<=[a-z\d%{_CLOSING}])\.|(?<=[A-Z][A-Z])\.)*)
    """,
    re.VERBOSE,
)
# Where spaCy cuts joined words and numbers.
_CUT_JOINT = re.compile(rf"((?<=[A-Za-z0-9]){_JOINT}(?=[A-Za-z])|(?<=\d)-(?=\d))")


@lru_cache(maxsize=1)
def _load_spacy_tokenizer() -> spacy.tokenizer.Tokenizer:
    return cast(spacy.tokenizer.Tokenizer, spacy.blank("en").tokenizer)


class TreebankRules:
    """
    The Penn Treebank rules of spaCy's English rule tokenizer, which needs no model to be downloaded.

    spaCy applies its regular expressions to every new chunk, which takes most of the time of reading
    a corpus. Nine in ten chunks are plain enough that the result is known beforehand, and are cut
    here; the others go to spaCy. The results are the same.
    """

    # Raised by hand when the results change, for caches of them; spaCy's rules have its version.
    version = f"1, spacy {spacy.__version__}"

    def __init__(self) -> None:
        self._spacy_tokenizer = _load_spacy_tokenizer()
        # "don't", "Mr.", ":)": strings with pieces of their own, wherever they stand in a chunk.
        self._special_cases: Set[str] = set(self._spacy_tokenizer.rules)
        self._divided_words: Set[str] = {
            chunk for chunk, pieces in self._spacy_tokenizer.rules.items() if len(pieces) > 1
        }

    def cut(self, chunk: str) -> List[str]:
        """The words of a chunk, which is text without blanks. Joined, they are the chunk again."""
        if chunk.isalpha() and chunk not in self._divided_words:
            return [chunk]
        pieces = _cut_plain_chunk(chunk)
        if pieces is None or self._has_special_case(chunk, pieces):
            return [token.text for token in self._spacy_tokenizer(chunk)]
        return pieces

    def _has_special_case(self, chunk: str, pieces: List[str]) -> bool:
        """Whether one piece, or several that follow each other, are a special case to spaCy."""
        if not self._divided_words.isdisjoint(pieces):
            return True
        if len(pieces) == 2:
            return chunk in self._special_cases
        ends = list(accumulate(map(len, pieces)))
        starts = [0, *ends]
        return any(
            chunk[starts[first] : end] in self._special_cases
            for first in range(len(pieces))
            for end in ends[first + 1 :]
        )


def _cut_plain_chunk(chunk: str) -> Optional[List[str]]:
    match = _PLAIN_CHUNK.fullmatch(chunk)
    if match is None:
        return None
    opening, words, possessive, closing = match.groups()
    pieces = list(opening)
    if words.isalnum():
        pieces.append(words)
    else:
        pieces += _CUT_JOINT.split(words)
    if possessive:
        pieces.append(possessive)
    pieces += closing
    return pieces

import re
from itertools import accumulate
from typing import List, Mapping, Optional, Sequence, Set

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


class PlainChunks:
    """
    spaCy applies its regular expressions to every new chunk (text without blanks), which takes most of
    the time of reading a corpus. Nine in ten chunks are plain enough that the result is known
    beforehand, and are cut here.

    # Parameters

    special_cases : `Mapping[str, Sequence[str]]`
        spaCy's strings with pieces of their own, wherever they stand in a chunk: "don't", "Mr.", ":)".
    """

    def __init__(self, special_cases: Mapping[str, Sequence[str]]) -> None:
        self._special_cases: Set[str] = set(special_cases)
        self._divided_words: Set[str] = {
            chunk for chunk, pieces in special_cases.items() if len(pieces) > 1
        }

    def cut(self, chunk: str) -> Optional[List[str]]:
        """The words of a chunk, as spaCy cuts it; None if that is not known beforehand."""
        if chunk.isalpha() and chunk not in self._divided_words:
            return [chunk]
        pieces = _cut_plain_chunk(chunk)
        if pieces is None or self._has_special_case(chunk, pieces):
            return None
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

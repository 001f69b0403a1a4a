"""
Cutting text into words.
"""

import re
from itertools import accumulate
from typing import Callable, List, Mapping, Optional, Sequence, Set, Tuple

# The characters at which the authors cut the words of a context once more, keeping each as a word:
# hyphen, minus, em and en dash, slash, tilde, straight and curly quotes, degree sign.
_SEPARATORS = "-\u2212\u2014\u2013/~\"'\u201c\u201d\u2018\u2019\u00b0"
# Treebank tokenizers also make a word of every bracket, of every currency sign and of
# the punctuation before a reference mark ("Paris.[1]", "1873.:33"); spaCy's rules leave these whole.
_SEPARATOR_PATTERN = re.compile(
    rf"([{_SEPARATORS}\[\](){{}}$£€]|[.,;:!?]+(?=[\[(])|[.,;!?]+:(?=\d)|(?<=[^\d.]):(?=\d))"
)
_CLITIC_PATTERN = re.compile(r"(?:n['\u2019]t|['\u2019](?:s|m|d|re|ve|ll|em))", re.IGNORECASE)
# What joins words to a compound, where it stands between letters or digits.
_JOINTS = {"-", "\u2013", "\u2014", "/"}
_CHUNK_PATTERN = re.compile(r"\S+")
# Longer ones are cut at every so many characters before the rules see them, whose time grows with the
# square of the length: of a hundred thousand brackets or emoji they would never come back. Chunks of
# SQuAD have at most 39.
MAX_CHUNK_LENGTH = 100

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


class WordCutter:
    """
    Cuts text into words by Treebank rules and, if wanted, by the authors' further cuts, or by fewer.

    # Parameters

    cut_chunk : `Callable[[str], List[str]]`
        The Treebank rules: the words of a chunk, which is text without blanks.
    split_compounds : `bool`
    whole_compounds : `bool`
        See `PtbTokenizer`.
    """

    def __init__(
        self, cut_chunk: Callable[[str], List[str]], split_compounds: bool, whole_compounds: bool
    ) -> None:
        self._apply_rules = cut_chunk
        self._split_compounds = split_compounds
        self._whole_compounds = whole_compounds

    def cut(self, text: str) -> List[Tuple[int, str]]:
        """The words of a text with their offsets."""
        # Treebank rules never look across a blank, so each run of non-blanks stands alone.
        return [
            word
            for match in _CHUNK_PATTERN.finditer(text)
            for word in self._cut_chunk(match.group(), match.start())
        ]

    def _cut_chunk(self, chunk: str, offset: int) -> List[Tuple[int, str]]:
        words = []
        for start in range(0, len(chunk), MAX_CHUNK_LENGTH):
            pieces = self._apply_rules(chunk[start : start + MAX_CHUNK_LENGTH])
            for piece in _join_compounds(pieces) if self._whole_compounds else pieces:
                if not self._split_compounds or len(piece) == 1 or piece.isalnum():
                    words.append((offset, piece))
                else:
                    words += _split_at_separators(offset, piece)
                offset += len(piece)
        return words


def _split_at_separators(offset: int, word: str) -> List[Tuple[int, str]]:
    if _CLITIC_PATTERN.fullmatch(word):
        return [(offset, word)]
    words = []
    for piece in _SEPARATOR_PATTERN.split(word):
        if piece:
            words.append((offset, piece))
        offset += len(piece)
    return words


def _join_compounds(pieces: List[str]) -> List[str]:
    """Puts words together again that the rules have cut at a joint between them."""
    joined: List[str] = []
    for piece in pieces:
        if (
            len(joined) > 1
            and joined[-1] in _JOINTS
            and joined[-2][-1].isalnum()
            and piece[0].isalnum()
        ):
            joint = joined.pop()
            joined[-1] += joint + piece
        else:
            joined.append(piece)
    return joined


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
        match = _PLAIN_CHUNK.fullmatch(chunk)
        if match is None:
            return None
        opening, words, possessive, closing = match.groups()
        pieces = list(opening)
        pieces += [words] if words.isalnum() else _CUT_JOINT.split(words)
        if possessive:
            pieces.append(possessive)
        pieces += closing
        return None if self._has_special_case(chunk, pieces) else pieces

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

import re
from itertools import chain
from typing import Callable, List, Tuple

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
CHUNK_PATTERN = re.compile(r"\S+")
# Longer ones are cut at every so many characters before the rules see them, whose time grows with the
# square of the length: of a hundred thousand brackets or emoji they would never come back. Chunks of
# SQuAD have at most 39.
MAX_CHUNK_LENGTH = 100


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
        if text.split() == [text]:
            return self._cut_chunk(text, 0)
        return [
            word
            for match in CHUNK_PATTERN.finditer(text)
            for word in self._cut_chunk(match.group(), match.start())
        ]

    def _cut_chunk(self, chunk: str, offset: int) -> List[Tuple[int, str]]:
        words = []
        parts = (
            chunk[start : start + MAX_CHUNK_LENGTH]
            for start in range(0, len(chunk), MAX_CHUNK_LENGTH)
        )
        for piece in chain.from_iterable(map(self._cut_part, parts)):
            if not self._split_compounds or len(piece) == 1 or piece.isalnum():
                words.append((offset, piece))
            else:
                words += _split_at_separators(offset, piece)
            offset += len(piece)
        return words

    def _cut_part(self, part: str) -> List[str]:
        pieces = self._apply_rules(part)
        return _join_compounds(pieces) if self._whole_compounds else pieces


def _split_at_separators(offset: int, piece: str) -> List[Tuple[int, str]]:
    if _CLITIC_PATTERN.fullmatch(piece):
        return [(offset, piece)]
    parts = []
    for part in _SEPARATOR_PATTERN.split(piece):
        if part:
            parts.append((offset, part))
        offset += len(part)
    return parts


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

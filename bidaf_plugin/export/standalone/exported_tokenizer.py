from typing import Dict, List, NamedTuple, Tuple

from bidaf_plugin.export.standalone.exported_rules import ExportedRules
from bidaf_plugin.runtime.word_cutter import _CHUNK_PATTERN, MAX_CHUNK_LENGTH, WordCutter

_MAX_CACHED_CHUNKS = 500_000


class Tokens(NamedTuple):
    """
    The words of a text, and where they stand in it: `text[starts[i] : ends[i]] == words[i]`.
    """

    words: List[str]
    starts: List[int]
    ends: List[int]

    def part(self, first: int, end: int) -> "Tokens":
        """Some of the tokens, of which `end` is one past the last."""
        return Tokens(self.words[first:end], self.starts[first:end], self.ends[first:end])


class ExportedTokenizer:
    """
    Gives the tokens of `PtbTokenizer`.

    # Parameters

    rules : `ExportedRules`
    split_compounds : `bool`
    whole_compounds : `bool`
        See `PtbTokenizer`.
    """

    def __init__(self, rules: ExportedRules, split_compounds: bool, whole_compounds: bool) -> None:
        self._cut = WordCutter(rules.cut, split_compounds, whole_compounds).cut
        self._words_of_chunk: Dict[str, List[Tuple[int, str]]] = {}

    def tokenize(self, text: str) -> Tokens:
        tokens = Tokens([], [], [])
        for match in _CHUNK_PATTERN.finditer(text):
            chunk = match.group()
            words = self._words_of_chunk.get(chunk)
            if words is None:
                words = self._cut(chunk)
                if len(self._words_of_chunk) >= _MAX_CACHED_CHUNKS:
                    self._words_of_chunk.clear()
                if len(chunk) <= MAX_CHUNK_LENGTH:
                    self._words_of_chunk[chunk] = words
            for offset, word in words:
                start = match.start() + offset
                tokens.words.append(word)
                tokens.starts.append(start)
                tokens.ends.append(start + len(word))
        return tokens

import re
from typing import Any, Dict, List, Mapping, Pattern, Sequence, Tuple

from bidaf_plugin.runtime.word_cutter import PlainChunks


class TreebankRules:
    """
    The Penn Treebank rules as spaCy's English tokenizer has them, from tables and without spaCy. A chunk (text
    without blanks)

    1. loses its prefixes and suffixes, one after the other, until a special case is left or nothing
       more comes off;
    2. what is left is a special case, an address of the web, or is cut at its infixes;
    3. special cases that the steps before have cut are put together again.

    # Parameters

    rules : `Dict[str, Any]`
        `special_cases`, the pieces of each, and the patterns `prefix`, `suffix`, `infix` and `url`.
    """

    def __init__(self, rules: Dict[str, Any]) -> None:
        self._special_cases: Dict[str, List[str]] = rules["special_cases"]
        for case, words in self._special_cases.items():
            if "".join(words) != case:
                raise ValueError(f"the special case {case!r} is cut into {words!r}")
        self._prefix, self._suffix, self._infix, self._url = (
            re.compile(rules[name]) for name in ("prefix", "suffix", "infix", "url")
        )
        self._plain_chunks = PlainChunks(self._special_cases)
        # What the other rules make of the special cases that they do not leave whole.
        self._case_of_words = {
            tuple(self._cut(case, {})): case
            for case in self._special_cases
            if any(pattern.search(case) for pattern in (self._prefix, self._suffix, self._infix))
        }
        self._longest_case = max(map(len, self._case_of_words), default=0)

    def cut(self, chunk: str) -> List[str]:
        """The words of a chunk. Joined, they are the chunk again."""
        words = self._plain_chunks.cut(chunk)
        if words is None:
            words = self._restore_special_cases(self._cut(chunk, self._special_cases))
        return words

    def _cut(self, chunk: str, special_cases: Mapping[str, Sequence[str]]) -> List[str]:
        prefixes, middle, suffixes = self._strip(chunk, special_cases)
        if middle in special_cases:
            words = list(special_cases[middle])
        elif self._url.match(middle):
            words = [middle]
        else:
            words = self._cut_at_infixes(middle)
        return [word for word in (*prefixes, *words, *reversed(suffixes)) if word]

    def _strip(
        self, text: str, special_cases: Mapping[str, Sequence[str]]
    ) -> Tuple[List[str], str, List[str]]:
        """The prefixes of a text, what is left, and the suffixes from last to first; some are empty."""
        prefixes: List[str] = []
        suffixes: List[str] = []
        while text and text not in special_cases:
            prefix_length = _match_length(self._prefix, text)
            suffix_length = _match_length(self._suffix, text[prefix_length:])
            if text[prefix_length:] in special_cases:
                suffix_length = 0
            elif text[: len(text) - suffix_length] in special_cases:
                prefix_length = 0
            if prefix_length == suffix_length == 0:
                break
            end = len(text) - suffix_length
            prefixes.append(text[:prefix_length])
            suffixes.append(text[end:])
            text = text[prefix_length:end]
        return prefixes, text, suffixes

    def _cut_at_infixes(self, text: str) -> List[str]:
        words = []
        start = 0
        for match in self._infix.finditer(text):
            if match.start() > 0:
                words += [text[start : match.start()], match.group()]
                start = match.end()
        return [*words, text[start:]]

    def _restore_special_cases(self, words: List[str]) -> List[str]:
        """Where several overlap, the longest counts, and of these the first."""
        found = sorted(
            (first - end, first, end)
            for first in range(len(words))
            for end in range(first + 1, min(len(words), first + self._longest_case) + 1)
            if tuple(words[first:end]) in self._case_of_words
        )
        pieces = [[word] for word in words]
        is_taken = [False] * len(words)
        for _, first, end in found:
            if not is_taken[first] and not is_taken[end - 1]:
                case = self._case_of_words[tuple(words[first:end])]
                pieces[first:end] = [self._special_cases[case], *([[]] * (end - first - 1))]
            is_taken[first:end] = [True] * (end - first)
        return [piece for pieces_of_word in pieces for piece in pieces_of_word]


def _match_length(pattern: Pattern[str], text: str) -> int:
    match = pattern.search(text)
    return 0 if match is None else match.end() - match.start()

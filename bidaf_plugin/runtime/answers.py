"""
Answers instead of spans: what differs only in case, or in articles and punctuation at its ends, is one answer,
and so is what stands in several places of a passage.
"""

import re
import string
from itertools import takewhile
from typing import Dict, Iterable, List, NamedTuple, Optional, Tuple
from unicodedata import category

import numpy

from bidaf_plugin.runtime.spans import ranked_spans

# Punctuation in the scripts that have some, and blanks.
_MARKS = "".join(
    character
    for character in map(chr, (*range(0x3100), *range(0xFE10, 0xFE70), *range(0xFF00, 0xFFF0)))
    if character in string.punctuation or character.isspace() or category(character).startswith("P")
)
_ARTICLES = ("a", "an", "the")
# Not the first letters of "A-10" and of "a.m.".
_ARTICLE_AT_AN_END = re.compile(r"\A(?:an?|the)(?=\s|\Z)|(?<=\s)(?:an?|the)\Z")


def answer_key(text: str) -> str:
    """
    The same for answers that are one: the text in lower case, without articles and punctuation at its ends.
    Empty for a text that has nothing else.
    """
    longer, key = "", text.casefold().strip(_MARKS)
    while key != longer:
        longer, key = key, _ARTICLE_AT_AN_END.sub("", key).strip(_MARKS)
    return key


class Occurrence(NamedTuple):
    """
    A place of a passage in which an answer stands.

    core : `Tuple[int, int]`
        Its first and last (inclusive) token, without what does not count at its ends. Of spans that have nothing
        else: their first token twice.
    span : `Tuple[int, int]`
        The most probable of the spans that read so: with a comma, with an article, ...
    weight : `float`
        The sum of `exp(start_scores[k] + end_scores[l])` over these spans.
    """

    core: Tuple[int, int]
    span: Tuple[int, int]
    weight: float


class FoundAnswer(NamedTuple):
    """
    An answer, wherever it stands in a passage.

    occurrences : `List[Occurrence]`
        The most probable place first.
    weight : `float`
        The sum of theirs.
    """

    occurrences: List[Occurrence]
    weight: float


def top_answers(
    start_scores: numpy.ndarray,
    end_scores: numpy.ndarray,
    passage: str,
    offsets: numpy.ndarray,
    n: int,
    max_length: Optional[int] = None,
) -> List[FoundAnswer]:
    """
    The `n` most probable answers of a passage, where the probability of an answer is the sum of the
    probabilities `p1_k * p2_l` of all spans `(k, l)`, `k <= l`, that have the same `answer_key`. With `n` as
    large as the number of answers, these probabilities add up to the sum over all spans.

    It is exact, and no (length x length) matrix is made. A span has a core: what is left of it without tokens
    at its ends that are articles or punctuation. The weights of these are added to those of the tokens next to
    them, so that cores stand for all of their spans. Cores of one token are compared with each
    other, then those of two, and so on, until no two cores of a length are the same; longer ones are
    then all different, and `ranked_spans` has the best of them. In a usual text this happens after a
    few tokens. In a text that repeats itself the search ends when all cores of a length together would
    not be among the best.

    # Parameters

    start_scores, end_scores : `numpy.ndarray`
        Shape `(length,)`, without padding: `log p1` and `log p2`, each up to a constant.
    passage : `str`
    offsets : `numpy.ndarray`
        Shape `(2, length)`: the first character of each token, and one past its last.
    n : `int`
    max_length : `int`, optional (default = `None`)
        Only spans of at most this many tokens.

    # Returns

    `List[FoundAnswer]`
        The most probable first; fewer than `n` if there are no more.
    """
    length = len(start_scores)
    max_length = length if max_length is None else min(max_length, length)
    texts = _TokenTexts(passage, offsets)
    cores = _Cores(numpy.exp(start_scores), numpy.exp(end_scores), texts, max_length)
    groups = cores.wordless()
    most_of_longer = _bound_weights(cores.start_totals, cores.end_totals)
    # A core is known by the number of the core without its last token, and by what that token adds.
    rows, numbers = cores.starts, texts.firsts[cores.starts]
    for core_length in range(1, max_length + 1):
        rows = rows[: numpy.searchsorted(rows, length - core_length, side="right")]
        least = groups[-1].weight if len(groups) == n else 0.0
        if not len(rows) or most_of_longer[core_length - 1] <= least:
            break
        last_tokens = rows + core_length - 1
        if core_length == 1:
            closed = texts.alone[rows]
        else:
            different, numbers = numpy.unique(numbers[: len(rows)], return_inverse=True)
            if len(different) == len(numbers):
                groups += cores.top_from_length(core_length, n)
                break
            closed = numbers * length + texts.lasts[last_tokens]
            numbers = numbers * length + texts.additions[last_tokens]
        weights = cores.weights(rows, last_tokens)
        if core_length == 1:
            # These are among the wordless ones.
            weights[texts.is_article[rows]] = 0
        groups = _rank(groups + _better_of_length(core_length, rows, closed, weights, n, least))[:n]
    return [cores.found(group) for group in _rank(groups)[:n]]


class _Group(NamedTuple):
    """
    The cores that read the same: their first tokens with the weight of each, the number of their tokens, which
    is 0 for spans without any core, and the sum of the weights.
    """

    first_tokens: numpy.ndarray
    weights: numpy.ndarray
    length: int
    weight: float


def _rank(groups: List[_Group]) -> List[_Group]:
    return sorted(groups, key=lambda group: -group.weight)


class _TokenTexts:
    """
    What the tokens of a passage read, in lower case, as numbers that are the same for the same text.

    # Attributes

    alone, firsts, lasts, additions : `numpy.ndarray`
        Shape `(length,)`: of a token that is a core, that begins one, that ends one, and that stands in the
        midst of one. The last two begin with what is between it and the token before.
    is_article : `numpy.ndarray`
        Shape `(length,)`.
    can_start, can_end : `numpy.ndarray`
        Shape `(length,)`: whether a core can begin or end with the token.
    """

    def __init__(self, passage: str, offsets: numpy.ndarray) -> None:
        starts, ends = offsets.tolist()
        words = [passage[start:end].casefold() for start, end in zip(starts, ends, strict=True)]
        added = [
            passage[before:start].casefold() + word
            for before, start, word in zip([0, *ends], starts, words, strict=False)
        ]
        stripped = [word if word.isalnum() else word.strip(_MARKS) for word in words]
        self.alone = _number(stripped)
        self.firsts = _number(word.lstrip(_MARKS) for word in words)
        self.lasts = _number(word.rstrip(_MARKS) for word in added)
        self.additions = _number(added)
        self.is_article = numpy.array([word in _ARTICLES for word in stripped])
        self.can_start = numpy.array([bool(word) for word in stripped])
        self.can_end = self.can_start.copy()
        for token in numpy.flatnonzero(self.is_article).tolist():
            # Those between blanks are taken off by `answer_key`; not that of "A-10", nor that of the token "A.".
            before = passage[max(starts[token] - 1, 0) : starts[token]]
            after = passage[ends[token] : ends[token] + 1]
            word = words[token]
            self.can_start[token] = bool(after.strip()) or word.lstrip(_MARKS) not in _ARTICLES
            self.can_end[token] = bool(before.strip()) or word.rstrip(_MARKS) not in _ARTICLES


def _number(texts: Iterable[str]) -> numpy.ndarray:
    """The same number for the same text."""
    numbers: Dict[str, int] = {}
    return numpy.array(
        [numbers.setdefault(text, len(numbers)) for text in texts], dtype=numpy.int64
    )


class _Cores:
    """
    What the cores of spans weigh.

    # Parameters

    start_weights, end_weights : `numpy.ndarray`
        Shape `(length,)`.
    texts : `_TokenTexts`
    max_length : `int`
        Of spans.

    # Attributes

    starts : `numpy.ndarray`
        The tokens with which a core can begin, rising.
    start_totals, end_totals : `numpy.ndarray`
        Shape `(length,)`: the sum of the weights of all starts, or ends, that a token stands for as the first,
        or last, of a core; 0 for others. Their product is the weight of a core, or more if `max_length` leaves
        out some of its spans.
    """

    def __init__(
        self,
        start_weights: numpy.ndarray,
        end_weights: numpy.ndarray,
        texts: _TokenTexts,
        max_length: int,
    ) -> None:
        self._start_weights, self._end_weights = start_weights, end_weights
        self._max_length = max_length
        self.starts, self._ends = (
            numpy.flatnonzero(can) for can in (texts.can_start, texts.can_end)
        )
        # Those that no blank divides from what is next to them: alone, they have no core either.
        self._articles: List[int] = numpy.flatnonzero(
            texts.is_article & texts.can_start & texts.can_end
        ).tolist()
        length = len(start_weights)
        self.start_totals, self.end_totals = numpy.zeros((2, length))
        # How many tokens before a start, or after an end, belong to it.
        self._num_before, self._num_after = numpy.zeros((2, length), dtype=numpy.int64)
        if len(self.starts):
            firsts = numpy.concatenate([[0], self.starts[:-1] + 1])
            self.start_totals[self.starts] = numpy.add.reduceat(
                start_weights[: self.starts[-1] + 1], firsts
            )
            self._num_before[self.starts] = self.starts - firsts
        if len(self._ends):
            self.end_totals[self._ends] = numpy.add.reduceat(end_weights, self._ends)
            self._num_after[self._ends] = numpy.diff(self._ends, append=length) - 1

    def weights(self, firsts: numpy.ndarray, lasts: numpy.ndarray) -> numpy.ndarray:
        """The weights of cores, given by their first and last tokens."""
        weights = self.start_totals[firsts] * self.end_totals[lasts]
        longest = lasts - firsts + 1 + self._num_before[firsts] + self._num_after[lasts]
        for index in numpy.flatnonzero((longest > self._max_length) & (weights > 0)).tolist():
            weights[index] = self._limited_weight(int(firsts[index]), int(lasts[index]))
        return weights

    def _limited_weight(self, first: int, last: int) -> float:
        """The weight of a core of which `max_length` leaves out some spans."""
        return sum(
            float(self._start_weights[start] * self._end_weights[last : end + 1].sum())
            for start, end in self._starts_with_last_ends(first, last)
        )

    def _starts_with_last_ends(self, first: int, last: int) -> Iterable[Tuple[int, int]]:
        """Each start of the spans with a core, and the last of their ends."""
        last_end = last + int(self._num_after[last])
        lowest = max(first - int(self._num_before[first]), last - self._max_length + 1)
        for start in range(first, lowest - 1, -1):
            yield start, min(last_end, start + self._max_length - 1)

    def _best_span(self, first: int, last: int) -> Tuple[int, int]:
        """The best of the spans with a core."""
        if not self._num_before[first] and not self._num_after[last]:
            return first, last
        best = (-1.0, first, last)
        for start, last_end in self._starts_with_last_ends(first, last):
            end = last + int(self._end_weights[last : last_end + 1].argmax())
            best = max(
                best, (float(self._start_weights[start] * self._end_weights[end]), start, end)
            )
        return best[1], best[2]

    def top_from_length(self, min_length: int, n: int) -> List[_Group]:
        """The best cores of at least some length, at which all are different."""
        # With `min_length - 1` tokens less at its end, a core may have any length from 1.
        num_removed = min_length - 1
        starts = numpy.arange(len(self.start_totals) - num_removed)
        spans = ranked_spans(
            starts,
            self.start_totals[None, : len(starts)],
            starts + 1,
            self.end_totals[None, num_removed:],
            self._max_length - num_removed,
        )
        found: List[_Group] = []
        for start, end, most in takewhile(lambda span: span[2] > 0, spans):
            if len(found) >= n and most <= _rank(found)[n - 1].weight:
                break
            weights = self.weights(numpy.array([start]), numpy.array([end - 1 + num_removed]))
            found.append(
                _Group(numpy.array([start]), weights, end - start + num_removed, weights[0])
            )
        return found

    def wordless(self) -> List[_Group]:
        """The spans that have no core, if there are any: they are one answer."""
        length = len(self._start_weights)
        tokens = numpy.arange(length)
        # From a token, a span has no core if it ends before the first end of a core after the first start of one.
        next_starts = numpy.append(self.starts, length)[numpy.searchsorted(self.starts, tokens)]
        ends = numpy.append(self._ends, length)[numpy.searchsorted(self._ends, next_starts)]
        num_ends = numpy.minimum(ends - tokens, self._max_length)
        sums, self._wordless_ends = _windows(self._end_weights, numpy.maximum(num_ends, 0))
        weights = self._start_weights * sums
        best_weights = self._start_weights * self._end_weights[self._wordless_ends] * (num_ends > 0)
        for core in self._articles:
            for first, last_end in self._starts_with_last_ends(core, core):
                end = core + int(self._end_weights[core : last_end + 1].argmax())
                weights[first] += (
                    self._start_weights[first] * self._end_weights[core : last_end + 1].sum()
                )
                best = self._start_weights[first] * self._end_weights[end]
                if best > best_weights[first]:
                    best_weights[first], self._wordless_ends[first] = best, end
        (firsts,) = numpy.nonzero(weights)
        total = float(weights.sum())
        return [_Group(firsts, weights[firsts], 0, total)] if total > 0 else []

    def found(self, group: _Group) -> FoundAnswer:
        order = numpy.argsort(-group.weights, kind="stable")
        occurrences = []
        for first, weight in zip(
            group.first_tokens[order].tolist(), group.weights[order].tolist(), strict=True
        ):
            if group.length:
                last = first + group.length - 1
                occurrences.append(Occurrence((first, last), self._best_span(first, last), weight))
            else:
                span = first, int(self._wordless_ends[first])
                occurrences.append(Occurrence((first, first), span, weight))
        return FoundAnswer(occurrences, float(group.weight))


def _windows(values: numpy.ndarray, sizes: numpy.ndarray) -> Tuple[numpy.ndarray, numpy.ndarray]:
    """
    From each index so many values: their sum, and the index of the largest. It takes as many steps as the largest
    size has binary digits.
    """
    sums = numpy.zeros(len(values))
    largest = numpy.arange(len(values))
    # Where what is not counted yet begins.
    positions = largest.copy()
    # From each index `size` values, as far as there are so many.
    size, sums_of_size, largest_of_size = 1, values, largest.copy()
    while size <= sizes.max(initial=0):
        (rows,) = numpy.nonzero(sizes & size)
        sums[rows] += sums_of_size[positions[rows]]
        found = largest_of_size[positions[rows]]
        is_first = positions[rows] == rows
        is_larger = is_first | (values[found] > values[largest[rows]])
        largest[rows[is_larger]] = found[is_larger]
        positions[rows] += size
        sums_of_size = sums_of_size[:-size] + sums_of_size[size:]
        first, second = largest_of_size[:-size], largest_of_size[size:]
        largest_of_size = numpy.where(values[second] > values[first], second, first)
        size *= 2
    return sums, largest


def _bound_weights(start_weights: numpy.ndarray, end_weights: numpy.ndarray) -> numpy.ndarray:
    """For each length from 1, the most that an answer of at least this length can weigh."""
    # Shape: (length,), the sum over all cores of a length
    totals = numpy.correlate(end_weights, start_weights, "full")[len(start_weights) - 1 :]
    # A little more, for rounding.
    return numpy.maximum.accumulate(totals[::-1])[::-1] * (1 + 1e-9)


def _better_of_length(
    length: int,
    rows: numpy.ndarray,
    numbers: numpy.ndarray,
    weights: numpy.ndarray,
    n: int,
    least: float,
) -> List[_Group]:
    """
    The `n` best groups of cores of a length that have more than the `least` weight, given the number of the
    core that begins at each row.
    """
    _, numbers = numpy.unique(numbers, return_inverse=True)
    totals = numpy.bincount(numbers, weights)
    (better,) = numpy.nonzero(totals > least)
    groups = []
    for number in better[numpy.argsort(-totals[better], kind="stable")][:n].tolist():
        (indices,) = numpy.nonzero((numbers == number) & (weights > 0))
        groups.append(_Group(rows[indices], weights[indices], length, float(totals[number])))
    return groups

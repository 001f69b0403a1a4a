"""
Maps of words in the spaces of a model: Fig. 2a of
[Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603).
"""

import calendar
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

import numpy
from allennlp.data import Instance
from sklearn.manifold import TSNE

from bidaf_plugin.analysis.text_vectors import (
    SPACES,
    context_of,
    distinct_passages,
    iterate_vectors,
    words_of,
)
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.predictors import SpanPredictor

MONTHS = [name for name in calendar.month_name if name]


class MapPoint(NamedTuple):
    """
    space : `str`
        One of `SPACES`.
    word : `str`
        As it is written.
    x, y : `float`
    context : `str`
        The words around it; empty in the word space, where a word has one point.
    """

    space: str
    word: str
    x: float
    y: float
    context: str


class _Occurrence(NamedTuple):
    passage: int
    place: int
    word: str


def map_words(
    predictor: SpanPredictor,
    instances: Sequence[Instance],
    words: Sequence[str],
    seed: int = 0,
    max_occurrences: int = 100,
    num_others: int = 2000,
) -> List[MapPoint]:
    """
    Lays out occurrences of words on a plane by [t-SNE](https://jmlr.org/papers/v9/vandermaaten08a.html),
    in each of `SPACES`. In the contextual space every occurrence has its point; in the word space,
    where all occurrences of a word have the same vector, every word.

    # Parameters

    predictor : `SpanPredictor`
    instances : `Sequence[Instance]`
        Of the reader "bidaf_squad".
    words : `Sequence[str]`
        In whatever case: "May" means "may" as well, which has points of its own.
    seed : `int`, optional (default = `0`)
    max_occurrences : `int`, optional (default = `100`)
        Of a word in one spelling. If there are more, they are drawn.
    num_others : `int`, optional (default = `2000`)
        So many other words, drawn from all passages, take part in the layout and are left out of the
        map, as in the paper.
    """
    passages = distinct_passages(instances)
    generator = numpy.random.default_rng(seed)
    wanted, others = _draw(passages, words, generator, max_occurrences, num_others)
    drawn = wanted + others
    vectors = _collect(predictor, passages, drawn)
    points = []
    for space in SPACES:
        if space == "word":
            # By spelling, in the order of their first occurrence.
            spellings = {drawn_one.word: row for row, drawn_one in reversed(list(enumerate(drawn)))}
            rows = sorted(spellings.values())
        else:
            rows = list(range(len(drawn)))
        layout = _lay_out(vectors[space][rows], seed)
        for row, (x, y) in zip(rows, layout.tolist(), strict=True):
            if row < len(wanted):
                passage, place, word = drawn[row]
                context = context_of(words_of(passages[passage], "passage"), place)
                points.append(MapPoint(space, word, x, y, "" if space == "word" else context))
    return points


def _draw(
    passages: Sequence[Instance],
    words: Sequence[str],
    generator: numpy.random.Generator,
    max_occurrences: int,
    num_others: int,
) -> Tuple[List[_Occurrence], List[_Occurrence]]:
    """Occurrences of the words, and of others."""
    lowercased = {word.lower() for word in words}
    by_spelling: Dict[str, List[_Occurrence]] = {}
    others: List[_Occurrence] = []
    for index, passage in enumerate(passages):
        for place, word in enumerate(words_of(passage, "passage")):
            occurrence = _Occurrence(index, place, word)
            if word.lower() in lowercased:
                by_spelling.setdefault(word, []).append(occurrence)
            else:
                others.append(occurrence)

    def draw(occurrences: List[_Occurrence], number: int) -> List[_Occurrence]:
        chosen = generator.permutation(len(occurrences))[:number]
        return [occurrences[row] for row in sorted(chosen)]

    if not by_spelling:
        raise DataError(f"none of the words {', '.join(words)} is in the passages")
    wanted = [
        occurrence
        for spelling in sorted(by_spelling)
        for occurrence in draw(by_spelling[spelling], max_occurrences)
    ]
    return wanted, draw(others, num_others)


def _collect(
    predictor: SpanPredictor, passages: Sequence[Instance], drawn: Sequence[_Occurrence]
) -> Dict[str, numpy.ndarray]:
    """The vectors of the occurrences in each space, shape `(num_occurrences, dim)`."""
    rows_of_passage: Dict[int, List[int]] = {}
    for row, occurrence in enumerate(drawn):
        rows_of_passage.setdefault(occurrence.passage, []).append(row)
    needed = list(rows_of_passage)
    collected: Dict[str, List[Any]] = {space: [None] * len(drawn) for space in SPACES}
    needed_passages = [passages[index] for index in needed]
    for index, vectors in iterate_vectors(predictor, needed_passages, "passage"):
        for row in rows_of_passage[needed[index]]:
            for space in SPACES:
                collected[space][row] = vectors[space][drawn[row].place].copy()
    return {space: numpy.stack(rows) for space, rows in collected.items()}


def _lay_out(vectors: numpy.ndarray, seed: int) -> numpy.ndarray:
    """Shape: (num_vectors, 2)"""
    if len(vectors) < 3:
        return numpy.arange(2.0 * len(vectors)).reshape(-1, 2)
    perplexity = min(30.0, (len(vectors) - 1) / 3)
    return TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(vectors)


def map_rows(points: Sequence[MapPoint]) -> Iterator[List[Any]]:
    """A row for each point, after the names of the columns."""
    yield list(MapPoint._fields)
    for space, word, x, y, context in points:
        yield [space, word, f"{x:.4f}", f"{y:.4f}", context]

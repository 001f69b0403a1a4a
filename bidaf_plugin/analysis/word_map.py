"""
Maps of words in the spaces of a model: Fig. 2a of
[Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603).
"""

import calendar
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

import numpy
from allennlp.data import Instance
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.manifold import TSNE

from bidaf_plugin.analysis.figures import new_figure, place_labels, plain
from bidaf_plugin.analysis.word_spaces import (
    SPACES,
    context_of,
    iterate_vectors,
    one_per_passage,
    words_of,
)
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.predictors import SpanPredictor

MONTHS = [name for name in calendar.month_name if name]

# The sizes of a picture in points, of which 72 are an inch.
_PANEL, _MARGIN, _TITLE, _LEGEND = 260.0, 6.0, 20.0, 18.0
_FONT_SIZE = 8.0
# Dark enough for letters.
_COLORS = (
    *("#0067a3", "#b5651d", "#00785a", "#8f4a78", "#c1121f", "#5b5ea6"),
    *("#6b7a00", "#0a8fa0", "#d1006c", "#7a4f2a", "#4a5560", "#7b2fbe"),
)
_TITLES = {"word": "Word embedding space", "contextual": "Contextual embedding space"}


class MapPoint(NamedTuple):
    """A place for a word on the map of one of `SPACES`."""

    space: str
    word: str
    x: float
    y: float
    # The words around it; empty in the word space, where a word has one point.
    context: str


class _Occurrence(NamedTuple):
    passage: int
    word_number: int
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

    The case of the words does not matter: "May" means "may" as well, which has points of its own. If there are
    more than `max_occurrences` of a word in one spelling, they are drawn. As in the paper, `num_others` other
    words, drawn from all passages, take part in the layout and are left out of the map.
    """
    passages = one_per_passage(instances)
    generator = numpy.random.default_rng(seed)
    wanted, others = _draw(passages, words, generator, max_occurrences, num_others)
    drawn = wanted + others
    vectors = _collect(predictor, passages, drawn)
    points = []
    for space in SPACES:
        if space == "word":
            # The first occurrence of each spelling.
            first_rows: Dict[str, int] = {}
            for row, occurrence in enumerate(drawn):
                first_rows.setdefault(occurrence.word, row)
            rows = list(first_rows.values())
        else:
            rows = list(range(len(drawn)))
        layout = _lay_out(vectors[space][rows], seed)
        for row, (x, y) in zip(rows, layout.tolist(), strict=True):
            if row < len(wanted):
                passage, index, word = drawn[row]
                context = context_of(words_of(passages[passage], "passage"), index)
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
    for number, passage in enumerate(passages):
        for index, word in enumerate(words_of(passage, "passage")):
            occurrence = _Occurrence(number, index, word)
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
                collected[space][row] = vectors[space][drawn[row].word_number].copy()
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
        yield [space, word, round(x, 4), round(y, 4), context]


def draw_word_map(points: Sequence[MapPoint]) -> Figure:
    """
    A colour for each word, filled where it is capitalised and hollow where it is not, and the name of
    each spelling beside its points.
    """
    width = len(SPACES) * (_PANEL + _MARGIN) + _MARGIN
    height = _PANEL + _TITLE + _LEGEND
    figure = new_figure(width / 72, height / 72, is_fixed=True)
    words = dict.fromkeys(point.word.lower() for point in points)
    colors = {word: _COLORS[number % len(_COLORS)] for number, word in enumerate(words)}
    for number, space in enumerate(SPACES):
        left = _MARGIN + number * (_PANEL + _MARGIN)
        box = (left / width, _LEGEND / height, _PANEL / width, _PANEL / height)
        axes = figure.add_axes(box)
        axes.set_title(_TITLES[space], fontsize=_FONT_SIZE + 1, pad=5)
        _draw_space(axes, [point for point in points if point.space == space], colors)
    note = "Filled: capitalised. Hollow: not capitalised."
    figure.text(_MARGIN / width, 5 / height, note, fontsize=_FONT_SIZE - 1, color="#646a73")
    return figure


def _draw_space(axes: Axes, points: Sequence[MapPoint], colors: Dict[str, str]) -> None:
    axes.set(xlim=(0, _PANEL), ylim=(0, _PANEL), xticks=[], yticks=[])
    axes.spines[:].set_color("#d9dce1")
    # Shape: (num_points, 2)
    positions = _fit(numpy.array([(point.x, point.y) for point in points]))
    spellings: Dict[str, List[int]] = {}
    for row, point in enumerate(points):
        spellings.setdefault(point.word, []).append(row)
    anchors = []
    for word, rows in spellings.items():
        color = colors[word.lower()]
        face = "none" if word.islower() else color
        x, y = positions[rows].T
        axes.scatter(x, y, s=10, facecolors=face, edgecolors=color, linewidths=0.7, alpha=0.8)
        anchors.append(_middle(positions[rows]))
    sizes = [(0.62 * _FONT_SIZE * len(word) + 2, 1.15 * _FONT_SIZE) for word in spellings]
    centers = place_labels(anchors, sizes, positions.tolist(), (_PANEL, _PANEL))
    for word, anchor, center in zip(spellings, anchors, centers, strict=True):
        color = colors[word.lower()]
        axes.plot(*zip(anchor, center, strict=True), color=color, linewidth=0.5)
        axes.text(
            *center,
            plain(word),
            fontsize=_FONT_SIZE,
            color=color,
            horizontalalignment="center",
            verticalalignment="center",
            bbox={"facecolor": "white", "alpha": 0.8, "pad": 0.5, "linewidth": 0},
        )


def _fit(positions: numpy.ndarray) -> numpy.ndarray:
    """Moves and scales points into the panel. Shape: (num_points, 2)"""
    low, high = positions.min(axis=0), positions.max(axis=0)
    scale = (_PANEL - 60) / max(float((high - low).max()), 1e-6)
    return (positions - (low + high) / 2) * scale + _PANEL / 2


def _middle(positions: numpy.ndarray) -> Tuple[float, float]:
    """The point that is nearest to all others, which lies where most of them are."""
    distances = numpy.linalg.norm(positions[:, None] - positions[None], axis=2).sum(axis=1)
    x, y = positions[int(distances.argmin())]
    return float(x), float(y)

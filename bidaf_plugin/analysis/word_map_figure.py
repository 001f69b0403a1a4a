"""
A picture of Fig. 2a of [Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603): both spaces
side by side.
"""

from typing import TYPE_CHECKING, Dict, List, Sequence, Tuple

import numpy

from bidaf_plugin.analysis.figures import new_figure
from bidaf_plugin.analysis.labels import place_labels
from bidaf_plugin.analysis.text_vectors import SPACES
from bidaf_plugin.analysis.word_map import MapPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# In points, of which 72 are an inch.
_PANEL, _MARGIN, _TITLE, _LEGEND = 260.0, 6.0, 20.0, 18.0
_FONT_SIZE = 8.0
# Dark enough for letters.
_COLORS = (
    *("#0067a3", "#b5651d", "#00785a", "#8f4a78", "#c1121f", "#5b5ea6"),
    *("#6b7a00", "#0a8fa0", "#d1006c", "#7a4f2a", "#4a5560", "#7b2fbe"),
)
_TITLES = {"word": "Word embedding space", "contextual": "Contextual embedding space"}


def draw_word_map(points: Sequence[MapPoint]) -> "Figure":
    """
    A colour for each word, filled where it is capitalised and hollow where it is not, and the name of
    each spelling beside its points.
    """
    width = len(SPACES) * (_PANEL + _MARGIN) + _MARGIN
    height = _PANEL + _TITLE + _LEGEND
    figure = new_figure(width / 72, height / 72)
    figure.set_layout_engine("none")
    for number, space in enumerate(SPACES):
        left = _MARGIN + number * (_PANEL + _MARGIN)
        box = (left / width, _LEGEND / height, _PANEL / width, _PANEL / height)
        axes = figure.add_axes(box)
        axes.set_title(_TITLES[space], fontsize=_FONT_SIZE + 1, pad=5)
        _draw_space(axes, [point for point in points if point.space == space], _colors(points))
    note = "Filled: capitalised. Hollow: not capitalised."
    figure.text(_MARGIN / width, 5 / height, note, fontsize=_FONT_SIZE - 1, color="#646a73")
    return figure


def _colors(points: Sequence[MapPoint]) -> Dict[str, str]:
    words = dict.fromkeys(point.word.lower() for point in points)
    return {word: _COLORS[number % len(_COLORS)] for number, word in enumerate(words)}


def _draw_space(axes: "Axes", points: Sequence[MapPoint], colors: Dict[str, str]) -> None:
    axes.set(xlim=(0, _PANEL), ylim=(0, _PANEL), xticks=[], yticks=[])
    axes.spines[:].set_color("#d9dce1")
    # Shape: (num_points, 2)
    places = _fit(numpy.array([(point.x, point.y) for point in points]))
    spellings: Dict[str, List[int]] = {}
    for row, point in enumerate(points):
        spellings.setdefault(point.word, []).append(row)
    anchors = []
    for word, rows in spellings.items():
        color = colors[word.lower()]
        face = "none" if word.islower() else color
        x, y = places[rows].T
        axes.scatter(x, y, s=10, facecolors=face, edgecolors=color, linewidths=0.7, alpha=0.8)
        anchors.append(_middle(places[rows]))
    sizes = [(0.62 * _FONT_SIZE * len(word) + 2, 1.15 * _FONT_SIZE) for word in spellings]
    centers = place_labels(anchors, sizes, places.tolist(), (_PANEL, _PANEL))
    for word, anchor, center in zip(spellings, anchors, centers, strict=True):
        color = colors[word.lower()]
        axes.plot(*zip(anchor, center, strict=True), color=color, linewidth=0.5)
        axes.text(
            *center,
            word,
            fontsize=_FONT_SIZE,
            color=color,
            horizontalalignment="center",
            verticalalignment="center",
            bbox={"facecolor": "white", "alpha": 0.8, "pad": 0.5, "linewidth": 0},
        )


def _fit(places: numpy.ndarray) -> numpy.ndarray:
    """Moves and scales points into the panel. Shape: (num_points, 2)"""
    low, high = places.min(axis=0), places.max(axis=0)
    scale = (_PANEL - 60) / max(float((high - low).max()), 1e-6)
    return (places - (low + high) / 2) * scale + _PANEL / 2


def _middle(places: numpy.ndarray) -> Tuple[float, float]:
    """The point that is nearest to all others, which lies where most of them are."""
    distances = numpy.linalg.norm(places[:, None] - places[None], axis=2).sum(axis=1)
    x, y = places[int(distances.argmin())]
    return float(x), float(y)

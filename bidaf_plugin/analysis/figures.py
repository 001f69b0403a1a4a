"""
What all pictures share: how they look, how they are written, how curves are drawn, and where labels go.
"""

import io
from itertools import cycle
from typing import Any, List, Mapping, Sequence, Tuple

import numpy
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from bidaf_plugin.common.files import open_atomically

Point = Tuple[float, float]

# Colours that people tell apart whatever their eyes (Okabe and Ito), also when printed in grey.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")
_DOTS_PER_INCH = 200
# Of labels: in how many directions from their anchors they may be, and in how many distances.
_NUM_DIRECTIONS = 16
_MAX_RINGS = 12


def new_figure(width: float, height: float, is_fixed: bool = False) -> Figure:
    """
    A figure of so many inches, apart from pyplot and its global state. If it is fixed, everything stays at
    the place that it is given.
    """
    figure = Figure(figsize=(width, height), layout="constrained")
    if is_fixed:
        figure.set_layout_engine("none")
    return figure


def save_figure(figure: Figure, path: str) -> List[str]:
    """Writes `path`.png and `path`.svg, and returns their paths. The same figure makes the same files."""
    with rc_context({"svg.hashsalt": "bidaf_plugin"}):
        with open_atomically(f"{path}.png", "wb") as file:
            figure.savefig(file, format="png", dpi=_DOTS_PER_INCH)
        with open_atomically(f"{path}.svg", "wb") as file:
            # The only metadata that would differ from day to day.
            figure.savefig(file, format="svg", metadata={"Date": None})
    return [f"{path}.png", f"{path}.svg"]


def figure_as_svg(figure: Figure) -> str:
    """An element `<svg>` for a page, whose texts stay texts. Matplotlib escapes them."""
    file = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with rc_context({"svg.hashsalt": "bidaf_plugin", "svg.fonttype": "none"}):
        figure.savefig(file, format="svg", metadata=nothing, transparent=True)
    svg = file.getvalue()
    return svg[svg.index("<svg") :]


def draw_curves(
    axes: Axes, curves: Mapping[str, Sequence[Point]], colors: Sequence[str] = COLORS
) -> None:
    """Curves over whole numbers, such as epochs, by their names, with a dot for each measured value."""
    for (name, points), color in zip(curves.items(), cycle(colors), strict=False):
        xs, ys = zip(*points, strict=True)
        axes.plot(xs, ys, marker="o", markersize=3, color=color, label=plain(name))
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))
    axes.grid(alpha=0.3)


def add_legend(
    figure: Figure, labels: Sequence[str], colors: Sequence[str], **options: Any
) -> None:
    """A legend of patches in some colours. Labels are shown as they are."""
    handles: List[Any] = [Patch(color=color) for color in colors[: len(labels)]]
    # To matplotlib, "_" in front and "$" have a meaning; names are set as they are.
    legend = figure.legend(handles, ["x"] * len(labels), frameon=False, fontsize=9, **options)
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set_parse_math(False)
        text.set_text(label)


def shorten(text: str, longest: int = 40) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def plain(text: str) -> str:
    """Text that is shown as it is: between dollars matplotlib reads formulas."""
    return text.replace("$", r"\$")


def place_labels(
    anchors: Sequence[Point],
    sizes: Sequence[Point],
    points: Sequence[Point],
    picture: Point,
    gap: float = 4.0,
) -> List[Point]:
    """
    The centres of labels that belong to `anchors`, each at least a `gap` away from its own: as near as it can
    be without covering another label or leaving the picture, and among those the one that covers the fewest
    `points`. `sizes` are width and height of each label, `picture` those of the picture.
    """
    angles = 2 * numpy.pi * numpy.arange(_NUM_DIRECTIONS) / _NUM_DIRECTIONS
    # Shape: (num_directions, 2)
    directions = numpy.stack([numpy.cos(angles), numpy.sin(angles)], axis=1)
    found: List[numpy.ndarray] = []
    for anchor, size in zip(numpy.array(anchors), numpy.array(sizes), strict=True):
        best_cost, best_center = numpy.inf, anchor
        for ring in range(_MAX_RINGS):
            # Shape: (num_directions, 2)
            centers = anchor + directions * (gap * (1 + 1.5 * ring) + size / 2)
            low, high = centers - size / 2, centers + size / 2
            is_free = ((low >= 0) & (high <= picture)).all(axis=1)
            for other, other_size in zip(found, numpy.array(sizes), strict=False):
                is_free &= (abs(centers - other) >= (size + other_size) / 2).any(axis=1)
            # Shape: (num_directions, num_points, 2)
            is_covered = (low[:, None] <= points) & (points <= high[:, None])
            costs = numpy.where(is_free, ring + is_covered.all(axis=2).sum(axis=1), numpy.inf)
            if costs.min() < best_cost:
                best_cost, best_center = costs.min(), centers[costs.argmin()]
            # No place that is farther away can be better.
            if best_cost <= ring + 1:
                break
        found.append(best_center)
    return [(float(x), float(y)) for x, y in found]

"""
What all pictures share: how they look, how they are written, how curves are drawn, and where labels go.
"""

import io
import math
from itertools import cycle
from typing import TYPE_CHECKING, List, Mapping, Sequence, Tuple

from bidaf_plugin.common.files import open_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Point = Tuple[float, float]
# Left, bottom, right and top.
Box = Tuple[float, float, float, float]

# Colours that people tell apart whatever their eyes (Okabe and Ito), also when printed in grey.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")
_DOTS_PER_INCH = 200
_NUM_DIRECTIONS = 16
_MAX_RINGS = 12


def new_figure(width: float, height: float, is_fixed: bool = False) -> "Figure":
    """
    A figure of so many inches, apart from pyplot and its global state. If it is fixed, everything stays at
    the place that it is given.
    """
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="none" if is_fixed else "constrained")


def save_figure(figure: "Figure", path: str) -> List[str]:
    """
    Writes `path`.png and `path`.svg. The same figure makes the same files.

    # Returns

    `List[str]`
        Their paths.
    """
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "bidaf_plugin"}):
        with open_atomically(f"{path}.png", "wb") as file:
            figure.savefig(file, format="png", dpi=_DOTS_PER_INCH)
        with open_atomically(f"{path}.svg", "wb") as file:
            # The only metadata that would differ from day to day.
            figure.savefig(file, format="svg", metadata={"Date": None})
    return [f"{path}.png", f"{path}.svg"]


def figure_as_svg(figure: "Figure") -> str:
    """An element `<svg>` for a page, whose texts stay texts. Matplotlib escapes them."""
    from matplotlib import rc_context

    file = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with rc_context({"svg.hashsalt": "bidaf_plugin", "svg.fonttype": "none"}):
        figure.savefig(file, format="svg", metadata=nothing, transparent=True)
    svg = file.getvalue()
    return svg[svg.index("<svg") :]


def draw_curves(
    axes: "Axes", curves: Mapping[str, Sequence[Point]], colors: Sequence[str] = COLORS
) -> None:
    """Curves over whole numbers, such as epochs, by their names, with a dot for each measured value."""
    from matplotlib.ticker import MaxNLocator

    for (name, points), color in zip(curves.items(), cycle(colors), strict=False):
        xs, ys = zip(*points, strict=True)
        axes.plot(xs, ys, marker="o", markersize=3, color=color, label=plain(name))
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.grid(alpha=0.3)


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
    Finds a place for the label of each anchor: as near as it can be without covering another label or
    leaving the picture, and among those the one that covers the fewest points.

    # Parameters

    anchors : `Sequence[Tuple[float, float]]`
        What the labels belong to.
    sizes : `Sequence[Tuple[float, float]]`
        Width and height of each label.
    points : `Sequence[Tuple[float, float]]`
        Everything that is better not covered.
    picture : `Tuple[float, float]`
        Width and height of the picture, in which all of them are.
    gap : `float`, optional (default = `4.0`)
        Between a label and its anchor, at least.

    # Returns

    `List[Tuple[float, float]]`
        The centres of the labels.
    """
    boxes: List[Box] = []
    for anchor, size in zip(anchors, sizes, strict=True):
        best_cost, best_box = math.inf, _box_around(anchor, size)
        for ring in range(_MAX_RINGS):
            for box in _boxes_beside(anchor, size, gap * (1 + 1.5 * ring)):
                is_inside = min(box) >= 0 and box[2] <= picture[0] and box[3] <= picture[1]
                if is_inside and not any(_overlap(box, other) for other in boxes):
                    cost = ring + sum(
                        box[0] <= x <= box[2] and box[1] <= y <= box[3] for x, y in points
                    )
                    if cost < best_cost:
                        best_cost, best_box = cost, box
            # No place that is farther away can be better.
            if best_cost <= ring + 1:
                break
        boxes.append(best_box)
    return [((left + right) / 2, (bottom + top) / 2) for left, bottom, right, top in boxes]


def _box_around(center: Point, size: Point) -> Box:
    (x, y), (width, height) = center, size
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def _boxes_beside(anchor: Point, size: Point, distance: float) -> List[Box]:
    """The label in all directions from its anchor, at the same distance."""
    angles = [2 * math.pi * number / _NUM_DIRECTIONS for number in range(_NUM_DIRECTIONS)]
    return [
        _box_around(
            (
                anchor[0] + math.cos(angle) * (distance + size[0] / 2),
                anchor[1] + math.sin(angle) * (distance + size[1] / 2),
            ),
            size,
        )
        for angle in angles
    ]


def _overlap(box: Box, other: Box) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]

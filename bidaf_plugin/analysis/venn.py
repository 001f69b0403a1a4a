"""
The paper's Figure 2b for any two or three systems: a Venn diagram with areas to scale.

Circles have the areas of their sets, and every two of them overlap as much as their sets do. With two
sets all regions are to scale; with three, the region that all share is where it comes to lie.
"""

from itertools import product
from math import acos, hypot, pi, sqrt
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

import numpy
from matplotlib import patches
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from scipy.ndimage import distance_transform_edt
from scipy.optimize import brentq, least_squares

from bidaf_plugin.analysis.comparison import Comparison, Region
from bidaf_plugin.analysis.figures import COLORS, add_legend, new_figure, shorten

# In inches: the side of the square in which the circles are, the room that a label needs around its
# middle, how far apart labels beside the circles are, and the size of the legend.
_SIDE, _LABEL_RADIUS, _LABEL_HEIGHT = 3.4, 0.24, 0.42
_LEGEND_LINE, _LEGEND_WIDTH = 0.24, 4.8
# Points along the longer side at which regions are looked for.
_RESOLUTION = 400
# How far apart circles are that have nothing in common, as a share of the largest radius.
_GAP = 0.1


class Circle(NamedTuple):
    x: float
    y: float
    radius: float


class Spot(NamedTuple):
    """The place in a region that is farthest from its border, and how far that is."""

    x: float
    y: float
    distance: float


def place_circles(regions: Dict[Region, int]) -> List[Circle]:
    """A circle for each set; the area of each is the number of questions in it."""
    num_sets = len(next(iter(regions)))

    def count(*members: int) -> int:
        """How many questions are in all of these sets."""
        return sum(n for region, n in regions.items() if all(region[index] for index in members))

    def distance(first: int, second: int) -> float:
        return find_distance(radii[first], radii[second], count(first, second))

    radii = [sqrt(count(index) / pi) for index in range(num_sets)]
    base = distance(0, 1)
    centers = [(0.0, 0.0), (base, 0.0)]
    if num_sets == 3:
        centers.append(_third_corner(base, distance(0, 2), distance(1, 2)))
    return [Circle(x, y, radius) for (x, y), radius in zip(centers, radii, strict=True)]


def find_distance(first_radius: float, second_radius: float, shared_area: float) -> float:
    """How far apart the centres of two circles are that have so large an area in common."""
    apart, within = first_radius + second_radius, abs(first_radius - second_radius)
    if shared_area <= 0:
        return apart + _GAP * max(first_radius, second_radius)
    if shared_area >= overlap_area(first_radius, second_radius, within):
        return within
    # The area shrinks as the circles part.
    return float(
        brentq(lambda d: overlap_area(first_radius, second_radius, d) - shared_area, within, apart)
    )


def overlap_area(first_radius: float, second_radius: float, distance: float) -> float:
    """The area that two circles have in common."""
    if distance >= first_radius + second_radius:
        return 0.0
    if distance <= abs(first_radius - second_radius):
        return pi * min(first_radius, second_radius) ** 2
    area = 0.0
    # What the chord through the two points where the circles meet cuts off each of them.
    for radius, other in ((first_radius, second_radius), (second_radius, first_radius)):
        to_chord = (distance**2 + radius**2 - other**2) / (2 * distance)
        # Rounding must not leave the range of the cosine.
        angle = acos(min(1.0, max(-1.0, to_chord / radius)))
        area += radius**2 * angle - to_chord * sqrt(max(0.0, radius**2 - to_chord**2))
    return area


def find_spots(circles: Sequence[Circle]) -> Dict[Region, Spot]:
    """The best place for the label of each region that can be seen."""
    left, right, bottom, top = bounds(circles)
    step = max(right - left, top - bottom) / _RESOLUTION
    if step == 0:
        return {}
    xs = numpy.arange(left - step, right + 2 * step, step)
    ys = numpy.arange(bottom - step, top + 2 * step, step)
    # Shape: (num_circles, num_ys, num_xs)
    is_inside = numpy.stack(
        [
            (xs[None, :] - circle.x) ** 2 + (ys[:, None] - circle.y) ** 2 < circle.radius**2
            for circle in circles
        ]
    )
    spots = {}
    for flags in product((False, True), repeat=len(circles)):
        # The first system changes fastest.
        region = flags[::-1]
        # Shape: (num_ys, num_xs)
        is_in_region = (is_inside == numpy.array(region)[:, None, None]).all(0)
        if any(region) and is_in_region.any():
            # Shape: (num_ys, num_xs)
            depths = distance_transform_edt(is_in_region)
            # Of many points that are as good, the one in their middle: figures are symmetric.
            # Shape: (num_good, 2)
            good = numpy.argwhere(depths >= 0.98 * depths.max())
            row, column = good[((good - good.mean(0)) ** 2).sum(1).argmin()]
            spots[region] = Spot(
                float(xs[column]), float(ys[row]), float(depths[row, column] * step)
            )
    return spots


def bounds(circles: Sequence[Circle]) -> Tuple[float, float, float, float]:
    """The left, right, bottom and top of what the circles cover."""
    xs, ys, radii = numpy.array(circles).T
    edges = (xs - radii).min(), (xs + radii).max(), (ys - radii).min(), (ys + radii).max()
    return edges[0].item(), edges[1].item(), edges[2].item(), edges[3].item()


def _third_corner(base: float, from_first: float, from_second: float) -> Tuple[float, float]:
    """
    The third corner of a triangle whose base lies on the x-axis, below it. Where no triangle has such
    sides, both distances are missed as little as can be.
    """

    def errors(corner: numpy.ndarray) -> List[float]:
        x, y = corner
        return [hypot(x, y) - from_first, hypot(x - base, y) - from_second]

    start = (base / 2, -max(from_first, from_second, 1e-3))
    x, y = least_squares(errors, start, xtol=1e-12, ftol=1e-12, gtol=1e-12).x
    return float(x), float(y)


def draw_venn(comparison: Comparison) -> Figure:
    """
    Which questions are answered correctly by which system (Figure 2b). Areas are to scale: all of them
    with two systems, those of circles and of what two of them share with three.
    """
    circles = place_circles(comparison.regions)
    spots = find_spots(circles)
    left, right, bottom, top = bounds(circles)
    # Units per inch.
    scale = max(right - left, top - bottom, 1e-9) / _SIDE
    # Regions without room for a label have it beside the circles, on the side where they are.
    outside = [
        region
        for region, count in comparison.regions.items()
        if count and any(region) and not _has_room(region, spots, scale)
    ]
    on_left = [r for r in outside if r in spots and spots[r].x < (left + right) / 2]
    on_right = [region for region in outside if region not in on_left]
    left_margin, right_margin = (1.2 if side else 0.2 for side in (on_left, on_right))
    width = left_margin + (right - left) / scale + right_margin
    height = (top - bottom) / scale + 0.2
    legend_height = _LEGEND_LINE * (len(circles) + 1) + 0.15
    # Sizes are known here, and areas must stay to scale.
    figure = new_figure(max(width, _LEGEND_WIDTH), height + legend_height, is_fixed=True)
    share = legend_height / (height + legend_height)
    axes = figure.add_axes((0, share, 1, 1 - share))
    axes.set_axis_off()
    axes.set_aspect("equal")
    start = left - (left_margin + (figure.get_figwidth() - width) / 2) * scale
    axes.set_xlim(start, start + figure.get_figwidth() * scale)
    axes.set_ylim(bottom - 0.1 * scale, top + 0.1 * scale)
    for (x, y, radius), color in zip(circles, COLORS, strict=False):
        style: Dict[str, Any] = {"facecolor": to_rgba(color, 0.35), "edgecolor": color}
        axes.add_patch(patches.Circle((x, y), radius, linewidth=1.2, **style))
    for region, spot in spots.items():
        if _has_room(region, spots, scale):
            _write_count(axes, comparison, region, spot.x, spot.y)
    _label_outside(axes, comparison, on_left, spots, left - 0.7 * scale, scale)
    _label_outside(axes, comparison, on_right, spots, right + 0.7 * scale, scale)
    _add_venn_legend(figure, comparison)
    return figure


def _has_room(region: Region, spots: Dict[Region, Spot], scale: float) -> bool:
    return region in spots and spots[region].distance >= _LABEL_RADIUS * scale


def _label_outside(
    axes: Axes,
    comparison: Comparison,
    regions: Sequence[Region],
    spots: Dict[Region, Spot],
    x: float,
    scale: float,
) -> None:
    """Labels in a column, each with a line to its region if that can be seen."""
    bottom, top = axes.get_ylim()
    heights = {region: spots[region].y if region in spots else bottom for region in regions}
    # At the height of their regions where that leaves room, so that lines cross as little as can be.
    ordered = sorted(regions, key=lambda region: -heights[region])
    highest = top - _LABEL_HEIGHT / 2 * scale
    for num_above, region in enumerate(ordered):
        num_below = len(ordered) - 1 - num_above
        lowest = bottom + (num_below + 0.5) * _LABEL_HEIGHT * scale
        y = max(min(heights[region], highest), lowest)
        highest = y - _LABEL_HEIGHT * scale
        _write_count(axes, comparison, region, x, y)
        if region in spots:
            spot = spots[region]
            beside_label = x + (0.36 if spot.x > x else -0.36) * scale
            axes.plot([spot.x, beside_label], [spot.y, y], color="#555555", linewidth=0.7)
            axes.plot(spot.x, spot.y, color="#555555", marker="o", markersize=2)


def _write_count(axes: Axes, comparison: Comparison, region: Region, x: float, y: float) -> None:
    label = _count_and_share(comparison.regions[region], comparison.num_questions, "\n")
    axes.text(x, y, label, ha="center", va="center", fontsize=9)


def _add_venn_legend(figure: Figure, comparison: Comparison) -> None:
    num_right = [
        sum(count for region, count in comparison.regions.items() if region[index])
        for index in range(len(comparison.systems))
    ]
    labels = [
        f"{shorten(name)}: {_count_and_share(count, comparison.num_questions, ' ')}"
        for name, count in zip(comparison.systems, num_right, strict=True)
    ]
    nobody = "neither" if len(labels) == 2 else "none of them"
    num_wrong = comparison.regions[(False,) * len(labels)]
    labels.append(f"{nobody}: {_count_and_share(num_wrong, comparison.num_questions, ' ')}")
    colors = [*COLORS[: len(num_right)], "none"]
    add_legend(figure, labels, colors, loc="lower center")


def _count_and_share(count: int, total: int, between: str) -> str:
    return f"{count:,}{between}({100 * count / total:.1f} %)"

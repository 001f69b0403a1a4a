"""
The geometry of Venn diagrams of two and three sets, with areas to scale.

Circles have the areas of their sets, and every two of them overlap as much as their sets do. With two
sets all regions are to scale; with three, the region that all share is where it comes to lie.
"""

from math import acos, hypot, pi, sqrt
from typing import Dict, List, NamedTuple, Sequence, Tuple

import numpy
from scipy.ndimage import distance_transform_edt
from scipy.optimize import brentq, least_squares

from bidaf_plugin.analysis.comparison import Region, all_regions

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
    for region in all_regions(len(circles))[1:]:
        # Shape: (num_ys, num_xs)
        is_in_region = (is_inside == numpy.array(region)[:, None, None]).all(0)
        if is_in_region.any():
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

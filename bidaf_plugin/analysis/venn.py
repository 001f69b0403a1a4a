"""
The geometry of Venn diagrams of two and three sets, with areas to scale.

Circles have the areas of their sets, and every two of them overlap as much as their sets do. With two
sets all regions are to scale; with three, the region that all share is where it comes to lie.
"""

from math import acos, hypot, pi, sqrt
from typing import Dict, List, NamedTuple, Sequence, Tuple

import numpy
from scipy.ndimage import distance_transform_edt

from bidaf_plugin.analysis.comparison import Region

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
    sizes = [_count(regions, [index]) for index in range(num_sets)]
    radii = [sqrt(size / pi) for size in sizes]

    def distance(first: int, second: int) -> float:
        shared = _count(regions, [first, second])
        return find_distance(radii[first], radii[second], shared)

    centers = [(0.0, 0.0), (distance(0, 1), 0.0)]
    if num_sets == 3:
        centers.append(_third_corner(distance(0, 1), distance(0, 2), distance(1, 2)))
    return [Circle(x, y, radius) for (x, y), radius in zip(centers, radii, strict=True)]


def find_distance(first_radius: float, second_radius: float, shared_area: float) -> float:
    """How far apart the centres of two circles are that have so large an area in common."""
    apart = first_radius + second_radius
    inside = abs(first_radius - second_radius)
    if shared_area <= 0:
        return apart + _GAP * max(first_radius, second_radius)
    # The area shrinks as the circles part, so that the distance can be halved in on.
    near, far = inside, apart
    for _ in range(60):
        middle = (near + far) / 2
        if overlap_area(first_radius, second_radius, middle) > shared_area:
            near = middle
        else:
            far = middle
    return near


def overlap_area(first_radius: float, second_radius: float, distance: float) -> float:
    """The area that two circles have in common."""
    if distance >= first_radius + second_radius:
        return 0.0
    smaller = min(first_radius, second_radius)
    if distance <= abs(first_radius - second_radius):
        return pi * smaller**2
    return _segment(first_radius, second_radius, distance) + _segment(
        second_radius, first_radius, distance
    )


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
    for number in range(1, 2 ** len(circles)):
        region = tuple(bool(number >> place & 1) for place in range(len(circles)))
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
    return (
        min(circle.x - circle.radius for circle in circles),
        max(circle.x + circle.radius for circle in circles),
        min(circle.y - circle.radius for circle in circles),
        max(circle.y + circle.radius for circle in circles),
    )


def _count(regions: Dict[Region, int], members: Sequence[int]) -> int:
    """How many questions are in all of some sets."""
    return sum(
        count for region, count in regions.items() if all(region[index] for index in members)
    )


def _segment(radius: float, other_radius: float, distance: float) -> float:
    """What the chord through the two points where circles meet cuts off one of them."""
    to_chord = (distance**2 + radius**2 - other_radius**2) / (2 * distance)
    # Rounding must not leave the range of the cosine.
    angle = acos(min(1.0, max(-1.0, to_chord / radius)))
    return radius**2 * angle - to_chord * sqrt(max(0.0, radius**2 - to_chord**2))


def _third_corner(base: float, from_first: float, from_second: float) -> Tuple[float, float]:
    """The third corner of a triangle whose base lies on the x-axis, below it."""
    if base == 0:
        return 0.0, -from_first
    x = (base**2 + from_first**2 - from_second**2) / (2 * base)
    height = from_first**2 - x**2
    if height > 0:
        return x, -sqrt(height)
    # No triangle has such sides; on the line, both distances are missed by the same amount.
    return _on_line(base, from_first, from_second), 0.0


def _on_line(base: float, from_first: float, from_second: float) -> float:
    between, right, left = (
        (base + from_first - from_second) / 2,
        (base + from_first + from_second) / 2,
        (base - from_first - from_second) / 2,
    )
    return min(
        (between, right, left),
        key=lambda x: hypot(abs(x) - from_first, abs(x - base) - from_second),
    )

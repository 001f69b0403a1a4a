from math import hypot, pi, sqrt
from typing import Dict, Tuple

import numpy
import pytest

from bidaf_plugin.analysis.comparison import Region
from bidaf_plugin.analysis.venn import (
    Circle,
    find_distance,
    find_spots,
    overlap_area,
    place_circles,
)

TWO: Dict[Region, int] = {(False, False): 9, (True, False): 10, (False, True): 40, (True, True): 30}


def three(**counts: int) -> Dict[Region, int]:
    """Regions of three sets; a001=5 stands for 5 in the third alone."""
    regions: Dict[Region, int] = {(bool(n & 4), bool(n & 2), bool(n & 1)): 0 for n in range(8)}
    regions.update({tuple(d == "1" for d in key[1:]): n for key, n in counts.items()})
    return regions


def distance(first: Circle, second: Circle) -> float:
    return hypot(first.x - second.x, first.y - second.y)


class TestOverlapArea:
    def test_two_circles_through_each_other_s_centre(self) -> None:
        # The golden value of the lens, known since antiquity as the vesica piscis.
        assert overlap_area(1, 1, 1) == pytest.approx(2 * pi / 3 - sqrt(3) / 2)

    @pytest.mark.parametrize(
        "radii, apart, area",
        [((1, 2), 3, 0), ((1, 2), 4, 0), ((1, 2), 1, pi), ((1, 2), 0, pi), ((2, 1), 0.5, pi)],
    )
    def test_circles_apart_and_within_each_other(
        self, radii: Tuple[float, float], apart: float, area: float
    ) -> None:
        assert overlap_area(*radii, apart) == pytest.approx(area)

    def test_against_counting_points(self) -> None:
        xs, ys = numpy.meshgrid(numpy.linspace(-3, 5, 1500), numpy.linspace(-3, 3, 1500))
        is_in_both = (xs**2 + ys**2 < 2**2) & ((xs - 1.7) ** 2 + ys**2 < 1.2**2)
        counted = is_in_both.sum() * (8 / 1499) * (6 / 1499)
        assert overlap_area(2, 1.2, 1.7) == pytest.approx(counted, rel=1e-3)


class TestFindDistance:
    @pytest.mark.parametrize("area", [0.01, 0.5, 1.0, 3.0])
    def test_is_the_inverse_of_the_area(self, area: float) -> None:
        assert overlap_area(1, 2, find_distance(1, 2, area)) == pytest.approx(area)

    def test_nothing_shared_is_apart_and_all_shared_within(self) -> None:
        assert find_distance(1, 2, 0) > 3
        assert find_distance(1, 2, pi) == pytest.approx(1)
        assert find_distance(1, 1, pi) == pytest.approx(0)
        assert find_distance(0, 0, 0) == 0


class TestPlaceCircles:
    def test_areas_of_two_are_to_scale(self) -> None:
        first, second = place_circles(TWO)
        assert pi * first.radius**2 == pytest.approx(10 + 30)
        assert pi * second.radius**2 == pytest.approx(40 + 30)
        shared = overlap_area(first.radius, second.radius, distance(first, second))
        assert shared == pytest.approx(30)

    def test_circles_and_overlaps_of_three_are_to_scale(self) -> None:
        regions = three(a100=20, a010=30, a001=40, a110=10, a011=12, a101=14, a111=25)
        circles = place_circles(regions)
        assert [pi * circle.radius**2 for circle in circles] == pytest.approx([69, 77, 91])
        for first, second, shared in ((0, 1, 35), (1, 2, 37), (0, 2, 39)):
            radii = circles[first].radius, circles[second].radius
            area = overlap_area(*radii, distance(circles[first], circles[second]))
            assert area == pytest.approx(shared), (first, second)

    @pytest.mark.parametrize(
        "regions",
        [
            three(a100=5, a110=5, a010=5, a001=5, a011=1),
            three(a111=7),
            three(a100=50, a001=50, a111=1, a010=1),
            three(a110=5, a111=5),
            three(a101=100, a010=3),
            three(),
        ],
    )
    def test_what_no_circles_can_show_is_no_error(self, regions: Dict[Region, int]) -> None:
        circles = place_circles(regions)
        assert all(numpy.isfinite(circle).all() for circle in circles)


class TestFindSpots:
    def test_spots_are_in_their_regions_and_far_from_the_borders(self) -> None:
        circles = place_circles(TWO)
        spots = find_spots(circles)
        assert set(spots) == {(True, False), (False, True), (True, True)}
        for region, spot in spots.items():
            for circle, is_in in zip(circles, region, strict=True):
                from_center = hypot(spot.x - circle.x, spot.y - circle.y)
                assert (from_center < circle.radius) == is_in
                # About as far from the circle's line as it says.
                assert abs(from_center - circle.radius) > 0.95 * spot.distance

    def test_the_spot_of_a_circle_alone_is_its_centre(self) -> None:
        spot = find_spots([Circle(0, 0, 1), Circle(5, 0, 1)])[True, False]
        assert (spot.x, spot.y, spot.distance) == pytest.approx((0, 0, 1), abs=0.03)

    def test_a_region_that_cannot_be_seen_has_none(self) -> None:
        assert set(find_spots([Circle(0, 0, 2), Circle(0, 0, 1)])) == {(True, False), (True, True)}
        assert find_spots([Circle(0, 0, 0), Circle(0, 0, 0)]) == {}

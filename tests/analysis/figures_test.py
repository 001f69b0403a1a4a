import random
from itertools import combinations
from pathlib import Path

import numpy
import pytest

from bidaf_plugin.analysis.figures import (
    draw_curves,
    figure_as_svg,
    new_figure,
    place_labels,
    save_figure,
)
from tests.html_helpers import HOSTILE, Page


class TestSaveFigure:
    def test_the_same_figure_makes_the_same_files(self, tmp_path: Path) -> None:
        contents = []
        for name in ("one", "two"):
            figure = new_figure(2, 1)
            figure.add_subplot().plot([0, 1], [1, 0])
            paths = save_figure(figure, str(tmp_path / name))
            contents.append([Path(path).read_bytes() for path in paths])
        assert contents[0] == contents[1]
        png, svg = contents[0]
        assert png.startswith(b"\x89PNG") and b"<svg" in svg
        # In pixels: 200 for each inch.
        assert int.from_bytes(png[16:20]) == 400 and int.from_bytes(png[20:24]) == 200


class TestDrawCurves:
    @pytest.mark.parametrize("value", [0.0, 5.0, -3.0, 1e-7, 1e9, 1e99])
    def test_a_single_value_is_within_the_axes(self, value: float) -> None:
        axes = new_figure(3, 2).add_subplot()
        draw_curves(axes, {"training": [(3, value)]})
        low, high = axes.get_ylim()
        assert low < value < high
        assert 3 in axes.get_xticks() and all(tick == int(tick) for tick in axes.get_xticks())

    def test_curves_are_what_was_measured(self) -> None:
        axes = new_figure(3, 2).add_subplot()
        draw_curves(axes, {"$a$": [(0, 10.0), (1, 30.0)], "b": [(1, 20.0)]}, ["red", "blue"])
        assert [numpy.asarray(line.get_xydata()).tolist() for line in axes.lines] == [
            [[0, 10], [1, 30]], [[1, 20]],
        ]  # fmt: skip
        assert [(line.get_label(), line.get_color()) for line in axes.lines] == [
            (r"\$a\$", "red"), ("b", "blue"),
        ]  # fmt: skip


class TestFigureAsSvg:
    def test_texts_are_no_markup_and_nothing_is_loaded(self) -> None:
        figure = new_figure(12, 4)
        draw_curves(figure.add_subplot(), {HOSTILE: [(0, 1.0), (1, 2.0)]})
        figure.axes[0].legend()
        svg = figure_as_svg(figure)
        assert svg.startswith("<svg") and svg == figure_as_svg(figure)
        page = Page(svg)
        page.assert_loads_nothing()
        assert page.count("script") == 0 and HOSTILE in page.texts["text"]
        for _, attributes in page.elements:
            assert (attributes.get("xlink:href") or "#").startswith("#")


class TestPlaceLabels:
    def test_no_label_is_over_another_or_outside(self) -> None:
        generator = random.Random(0)
        anchors = [(generator.uniform(20, 60), generator.uniform(20, 60)) for _ in range(12)]
        size = (30.0, 9.0)
        centers = place_labels(anchors, [size] * 12, anchors, (260, 260))
        for (x, y), (other_x, other_y) in combinations(centers, 2):
            assert abs(x - other_x) >= size[0] - 1e-9 or abs(y - other_y) >= size[1] - 1e-9
        for x, y in centers:
            assert 15 <= x <= 245 and 4.5 <= y <= 255.5

    def test_a_label_alone_is_beside_its_anchor(self) -> None:
        ((x, y),) = place_labels([(100, 100)], [(20, 10)], [(100, 100)], (200, 200))
        assert (x, y) == (100 + 4 + 10, 100)

    def test_points_are_not_covered_where_there_is_room(self) -> None:
        points = [(100.0, 100.0), (114.0, 100.0)]
        ((x, y),) = place_labels(points[:1], [(20, 10)], points, (200, 200))
        assert not (abs(x - 114) <= 10 and abs(y - 100) <= 5)

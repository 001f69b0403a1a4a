import warnings
from math import pi
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle as CirclePatch
from matplotlib.patches import Rectangle

from bidaf_plugin.analysis.comparison import Comparison
from bidaf_plugin.analysis.comparison_files import draw_first_words, draw_venn
from bidaf_plugin.analysis.figures import save_figure
from tests.analysis.comparison_test import compare_answers

RIGHT, WRONG = "Ada Orn", "x"


def texts_of(figure: Figure) -> List[str]:
    figure.draw_without_rendering()
    (axes,) = figure.axes
    return [text.get_text() for text in axes.texts]


def legend_of(figure: Figure) -> List[str]:
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def assert_no_overlap(figure: Figure) -> None:
    """All labels are within the figure, and none covers another."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    (axes,) = figure.axes
    labels = [*axes.texts, *figure.legends[0].get_texts()]
    labels += axes.get_xticklabels() if axes.axison else []
    boxes = [label.get_window_extent(renderer) for label in labels]
    whole = figure.bbox
    for place, box in enumerate(boxes):
        assert whole.x0 <= box.x0 and box.x1 <= whole.x1, labels[place].get_text()
        assert whole.y0 <= box.y0 and box.y1 <= whole.y1, labels[place].get_text()
        for other in boxes[place + 1 :]:
            assert not box.overlaps(other), labels[place].get_text()


@pytest.fixture
def comparison(tmp_path: Path) -> Comparison:
    return compare_answers(
        tmp_path,
        first=[RIGHT] * 50 + [WRONG] * 50,
        second=[WRONG] * 20 + [RIGHT] * 60 + [WRONG] * 20,
    )


class TestDrawVenn:
    def test_circles_and_labels(self, comparison: Comparison) -> None:
        figure = draw_venn(comparison)
        assert texts_of(figure) == ["20\n(20.0 %)", "30\n(30.0 %)", "30\n(30.0 %)"]
        assert legend_of(figure) == [
            "first: 50 (50.0 %)", "second: 60 (60.0 %)", "neither: 20 (20.0 %)",
        ]  # fmt: skip
        circles = [patch for patch in figure.axes[0].patches if isinstance(patch, CirclePatch)]
        assert [pi * circle.radius**2 for circle in circles] == pytest.approx([50, 60])
        assert_no_overlap(figure)

    def test_small_regions_have_their_labels_beside_the_circles(self, tmp_path: Path) -> None:
        comparison = compare_answers(
            tmp_path,
            a=[RIGHT] * 41 + [WRONG] * 159,
            b=[WRONG] + [RIGHT] * 100 + [WRONG] * 99,
            c=[WRONG] * 2 + [RIGHT] * 150 + [WRONG] * 48,
        )
        figure = draw_venn(comparison)
        counts = sorted(int(text.split()[0]) for text in texts_of(figure))
        shown = [count for region, count in comparison.regions.items() if count and any(region)]
        assert [count for count in counts if count] == sorted(shown)
        assert len(figure.axes[0].lines) >= 2
        assert_no_overlap(figure)

    @pytest.mark.parametrize(
        "answers",
        [
            {"a": [WRONG], "b": [WRONG]},
            {"a": [RIGHT], "b": [WRONG]},
            {"a": [RIGHT], "b": [RIGHT]},
            {"a": [RIGHT, WRONG], "b": [WRONG, RIGHT]},
            {"a": [WRONG], "b": [WRONG], "c": [WRONG]},
            {"a": [RIGHT], "b": [RIGHT], "c": [RIGHT]},
            {"a": [RIGHT, WRONG, WRONG], "b": [WRONG, RIGHT, WRONG], "c": [WRONG, WRONG, RIGHT]},
        ],
    )
    def test_empty_equal_and_separate_systems(
        self, tmp_path: Path, answers: Dict[str, Sequence[Optional[str]]]
    ) -> None:
        comparison = compare_answers(tmp_path, **answers)
        figure = draw_venn(comparison)
        texts = [text for text in texts_of(figure) if not text.startswith("0\n")]
        assert len(texts) == sum(
            bool(count and any(region)) for region, count in comparison.regions.items()
        )
        assert_no_overlap(figure)

    def test_names_are_shown_as_they_are(self, tmp_path: Path) -> None:
        names: Dict[str, Any] = {"_hidden": [RIGHT], "$x_1$ <b>": [WRONG], "n" * 200: [RIGHT]}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            figure = draw_venn(compare_answers(tmp_path, **names))
            save_figure(figure, str(tmp_path / "venn"))
            first, second, third, _ = legend_of(figure)
        assert first.startswith("_hidden: ") and second.startswith("$x_1$ <b>: ")
        assert third.startswith("n" * 39 + "…: ")


class TestDrawFirstWords:
    @pytest.mark.parametrize("score, height", [("em", 50.0), ("f1", 50.0)])
    def test_bars_are_the_scores(self, comparison: Comparison, score: str, height: float) -> None:
        figure = draw_first_words(comparison, score)
        (axes,) = figure.axes
        # All questions of the fixture begin with "who".
        bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
        assert [bar.get_height() for bar in bars] == pytest.approx([height, 60.0])
        assert [label.get_text() for label in axes.get_xticklabels()] == ["who\n100"]
        assert texts_of(figure) == ["50", "60"]
        assert legend_of(figure) == ["first", "second"]
        assert ("EM" if score == "em" else "F1") in axes.get_ylabel()
        assert_no_overlap(figure)

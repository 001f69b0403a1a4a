"""
The paper's Figures 2b and 2c for any two or three systems.
"""

from typing import TYPE_CHECKING, Any, Dict, List, Sequence

from bidaf_plugin.common.figures import COLORS, new_figure, show_only_axes
from bidaf_plugin.evaluation.breakdown import NUM_FIRST_WORDS, Group
from bidaf_plugin.evaluation.comparison import Comparison, Region
from bidaf_plugin.evaluation.venn import Circle, Spot, bounds, find_spots, place_circles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# In inches: the side of the square in which the circles are, the height of a line of the legend, the
# room that a label needs around its middle, and how far apart labels beside the circles are.
_SIDE, _LEGEND_LINE, _LABEL_RADIUS, _LABEL_HEIGHT = 3.4, 0.24, 0.24, 0.42
_LONGEST_NAME = 60


def draw_venn(comparison: Comparison) -> "Figure":
    """
    Which questions are answered correctly by which system (Figure 2b). Areas are to scale: all of them
    with two systems, those of circles and of what two of them share with three.
    """
    circles = place_circles(comparison.regions)
    spots = find_spots(circles)
    left, right, bottom, top = bounds(circles)
    scale = max(right - left, top - bottom, 1e-9) / _SIDE
    width, height = (right - left) / scale + 1.6, (top - bottom) / scale + 0.2
    legend_height = _LEGEND_LINE * (len(circles) + 1) + 0.15

    figure = new_figure(max(width, 4.2), height + legend_height)
    figure.set_layout_engine("none")
    share = legend_height / (height + legend_height)
    axes = figure.add_axes((0, share, 1, 1 - share))
    axes.set_axis_off()
    axes.set_aspect("equal")
    # The room to the right is for labels of regions that are too small for them.
    axes.set_xlim(left - 0.2 * scale, left + (max(width, 4.2) - 0.2) * scale)
    axes.set_ylim(bottom - 0.1 * scale, top + 0.1 * scale)
    _draw_circles(axes, circles)
    _label_regions(axes, comparison, spots, scale, right + 0.75 * scale)
    _add_venn_legend(figure, comparison)
    return figure


def _draw_circles(axes: "Axes", circles: Sequence[Circle]) -> None:
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Circle as CirclePatch

    for circle, color in zip(circles, COLORS, strict=False):
        axes.add_patch(
            CirclePatch(
                (circle.x, circle.y),
                circle.radius,
                facecolor=to_rgba(color, 0.35),
                edgecolor=color,
                linewidth=1.2,
            )
        )


def _label_regions(
    axes: "Axes", comparison: Comparison, spots: Dict[Region, Spot], scale: float, margin: float
) -> None:
    """Labels stand in their regions, or, where there is no room, beside the circles with a line."""
    outside: List[Region] = []
    for region, count in comparison.regions.items():
        spot = spots.get(region)
        label = _count_and_share(count, comparison.num_questions, "\n")
        if spot is not None and spot.distance >= _LABEL_RADIUS * scale:
            axes.text(spot.x, spot.y, label, ha="center", va="center", fontsize=9)
        elif count and any(region):
            outside.append(region)
    # From top to bottom as their regions are, so that no two lines cross.
    outside.sort(key=lambda region: -spots[region].y if region in spots else 0)
    middle = sum(axes.get_ylim()) / 2
    for place, region in enumerate(outside):
        y = middle - (place - (len(outside) - 1) / 2) * _LABEL_HEIGHT * scale
        label = _count_and_share(comparison.regions[region], comparison.num_questions, "\n")
        axes.text(margin, y, label, ha="center", va="center", fontsize=9)
        if region in spots:
            axes.plot(
                [spots[region].x, margin - 0.4 * scale],
                [spots[region].y, y],
                color="#555555",
                linewidth=0.7,
                marker="o",
                markevery=[0],
                markersize=2,
            )


def _add_venn_legend(figure: "Figure", comparison: Comparison) -> None:
    num_right = [
        sum(count for region, count in comparison.regions.items() if region[place])
        for place in range(len(comparison.systems))
    ]
    labels = [
        f"{_shorten(name)}: {_count_and_share(count, comparison.num_questions, ' ')}"
        for name, count in zip(comparison.systems, num_right, strict=True)
    ]
    nobody = "neither" if len(labels) == 2 else "none of them"
    num_wrong = comparison.regions[(False,) * len(labels)]
    labels.append(f"{nobody}: {_count_and_share(num_wrong, comparison.num_questions, ' ')}")
    _add_legend(figure, labels, "lower center")


def draw_first_words(comparison: Comparison, score: str = "em") -> "Figure":
    """
    The scores of each system for the 10 most frequent first words of questions (Figure 2c).

    # Parameters

    comparison : `Comparison`
    score : `str`, optional (default = `"em"`)
        "em" or "f1".
    """
    groups = {name: first_word_groups(comparison, name) for name in comparison.systems}
    words = next(iter(groups.values()))
    figure = new_figure(max(4.0, 1.0 + 0.72 * len(words)), 3.4)
    axes = figure.add_subplot()
    width = 0.8 / len(groups)
    for place, (values, color) in enumerate(zip(groups.values(), COLORS, strict=False)):
        xs = [index + (place - (len(groups) - 1) / 2) * width for index in range(len(words))]
        heights = [getattr(group, score) for group in values]
        bars = axes.bar(xs, heights, 0.9 * width, color=color)
        axes.bar_label(bars, fmt="%.0f", fontsize=7, padding=1.5)
    labels = [f"{_shorten(group.label, 12)}\n{group.count:,}" for group in words]
    axes.set_xticks(range(len(words)), [label.replace("$", r"\$") for label in labels], fontsize=9)
    axes.set_xlabel("first word of the question, and number of questions", fontsize=9)
    what = "answered correctly (EM)" if score == "em" else "F1"
    axes.set_ylabel(f"{what}, percent", fontsize=9)
    axes.set_ylim(0, 100)
    axes.tick_params(axis="x", length=0)
    axes.tick_params(axis="y", labelsize=9)
    show_only_axes(axes)
    _add_legend(figure, [_shorten(name) for name in groups], "outside upper center")
    return figure


def first_word_groups(comparison: Comparison, name: str) -> List[Group]:
    """What Figure 2c shows of a system: the most frequent words, without the rest."""
    return comparison.systems[name].breakdown["first word"][:NUM_FIRST_WORDS]


def _add_legend(figure: "Figure", labels: Sequence[str], place: str) -> None:
    from matplotlib.patches import Patch

    colors = [*COLORS[: len(labels)]]
    if len(labels) > 1 and place.startswith("lower"):
        colors = [*COLORS[: len(labels) - 1], "none"]
    handles: List[Any] = [Patch(color=color) for color in colors]
    columns = 1 if place.startswith("lower") or max(map(len, labels)) > 25 else len(labels)
    # To matplotlib, "_" in front and "$" have a meaning; names are set as they are.
    legend = figure.legend(
        handles, ["x"] * len(labels), loc=place, ncols=columns, frameon=False, fontsize=9
    )
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set_parse_math(False)
        text.set_text(label)


def _count_and_share(count: int, total: int, between: str) -> str:
    return f"{count:,}{between}({100 * count / total:.1f} %)"


def _shorten(text: str, longest: int = _LONGEST_NAME) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"

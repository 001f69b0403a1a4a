"""
The paper's Figures 2b and 2c for any two or three systems.
"""

from typing import TYPE_CHECKING, Any, Dict, List, Sequence

from bidaf_plugin.analysis.comparison import Comparison, Region
from bidaf_plugin.analysis.figures import COLORS, new_figure, plain
from bidaf_plugin.analysis.scores import NUM_FIRST_WORDS
from bidaf_plugin.analysis.venn import Spot, bounds, find_spots, place_circles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# In inches: the side of the square in which the circles are, the room that a label needs around its
# middle, how far apart labels beside the circles are, and the size of the legend.
_SIDE, _LABEL_RADIUS, _LABEL_HEIGHT = 3.4, 0.24, 0.42
_LEGEND_LINE, _LEGEND_WIDTH = 0.24, 4.8
_LONGEST_NAME = 40


def draw_venn(comparison: Comparison) -> "Figure":
    """
    Which questions are answered correctly by which system (Figure 2b). Areas are to scale: all of them
    with two systems, those of circles and of what two of them share with three.
    """
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Circle

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
        axes.add_patch(Circle((x, y), radius, linewidth=1.2, **style))
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
    axes: "Axes",
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


def _write_count(axes: "Axes", comparison: Comparison, region: Region, x: float, y: float) -> None:
    label = _count_and_share(comparison.regions[region], comparison.num_questions, "\n")
    axes.text(x, y, label, ha="center", va="center", fontsize=9)


def _add_venn_legend(figure: "Figure", comparison: Comparison) -> None:
    num_right = [
        sum(count for region, count in comparison.regions.items() if region[index])
        for index in range(len(comparison.systems))
    ]
    labels = [
        f"{_shorten(name)}: {_count_and_share(count, comparison.num_questions, ' ')}"
        for name, count in zip(comparison.systems, num_right, strict=True)
    ]
    nobody = "neither" if len(labels) == 2 else "none of them"
    num_wrong = comparison.regions[(False,) * len(labels)]
    labels.append(f"{nobody}: {_count_and_share(num_wrong, comparison.num_questions, ' ')}")
    colors = [*COLORS[: len(num_right)], "none"]
    _add_legend(figure, labels, colors, loc="lower center")


def draw_first_words(comparison: Comparison, score: str = "em") -> "Figure":
    """
    The scores of each system, "em" or "f1", for the 10 most frequent first words of questions (Figure 2c).
    """
    groups = {
        name: system.breakdown["first word"][:NUM_FIRST_WORDS]
        for name, system in comparison.systems.items()
    }
    words = next(iter(groups.values()))
    figure = new_figure(max(4.0, 1.0 + 0.72 * len(words)), 3.4)
    axes = figure.add_subplot()
    width = 0.8 / len(groups)
    for number, (values, color) in enumerate(zip(groups.values(), COLORS, strict=False)):
        offset = (number - (len(groups) - 1) / 2) * width
        xs = [index + offset for index in range(len(words))]
        bars = axes.bar(xs, [getattr(g, score) for g in values], 0.9 * width, color=color)
        axes.bar_label(bars, fmt="%.0f", fontsize=7, padding=1.5)
    labels = [f"{plain(_shorten(g.label, 12))}\n{g.num_questions:,}" for g in words]
    axes.set_xticks(range(len(words)), labels, fontsize=9)
    axes.set_xlabel("first word of the question, and number of questions", fontsize=9)
    what = "answered correctly (EM)" if score == "em" else "F1"
    axes.set_ylabel(f"{what}, percent", fontsize=9)
    # With room for the label of a bar that reaches 100.
    axes.set_ylim(0, 106)
    axes.set_yticks(range(0, 101, 20))
    axes.tick_params(axis="x", length=0)
    axes.tick_params(axis="y", labelsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.yaxis.grid(alpha=0.3)
    axes.set_axisbelow(True)
    names = [_shorten(name) for name in groups]
    columns = 1 if max(map(len, names)) > 25 else len(names)
    _add_legend(figure, names, COLORS, loc="outside upper center", ncols=columns)
    return figure


def _add_legend(
    figure: "Figure", labels: Sequence[str], colors: Sequence[str], **options: Any
) -> None:
    from matplotlib.patches import Patch

    handles: List[Any] = [Patch(color=color) for color in colors[: len(labels)]]
    # To matplotlib, "_" in front and "$" have a meaning; names are set as they are.
    legend = figure.legend(handles, ["x"] * len(labels), frameon=False, fontsize=9, **options)
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set_parse_math(False)
        text.set_text(label)


def _count_and_share(count: int, total: int, between: str) -> str:
    return f"{count:,}{between}({100 * count / total:.1f} %)"


def _shorten(text: str, longest: int = _LONGEST_NAME) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 1] + "…"

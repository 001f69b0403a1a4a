"""
Small line charts for pages, as the numbers that `line_chart` in templates/macros.html draws: in the
colours of the page, light or dark, and with values that show under the pointer.
"""

from typing import Dict, List, NamedTuple, Sequence, Tuple

WIDTH, HEIGHT = 320, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 10, 8, 24
_MOST_TICKS = 5


class Tick(NamedTuple):
    """A label of an axis, and where on it."""

    place: float
    label: str


class Dot(NamedTuple):
    """A measured value: where it is drawn, and what is said of it."""

    x: float
    y: float
    text: str


class LineChart(NamedTuple):
    """What is drawn, in pixels from the upper left."""

    title: str
    x_ticks: List[Tick]
    y_ticks: List[Tick]
    series: Dict[str, List[Dot]]


def line_chart(title: str, series: Dict[str, List[Tuple[int, float]]]) -> LineChart:
    """
    A chart of curves over whole numbers, such as epochs.

    # Parameters

    title : `str`
    series : `Dict[str, List[Tuple[int, float]]]`
        For each curve the pairs of x and y; there must be one at least.
    """
    x_values = [float(x) for points in series.values() for x, _ in points]
    y_values = [y for points in series.values() for _, y in points]
    x_marks, y_marks = _nice_ticks(x_values, is_whole=True), _nice_ticks(y_values)
    x_low, x_high = min(x_values), max(x_values)

    def place_x(x: float) -> float:
        share = (x - x_low) / (x_high - x_low) if x_high > x_low else 0.5
        return round(_LEFT + 6 + share * (WIDTH - _LEFT - _RIGHT - 12), 1)

    def place_y(y: float) -> float:
        share = (y - y_marks[0]) / (y_marks[-1] - y_marks[0])
        return round(HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM), 1)

    digits = _digits(y_marks)
    return LineChart(
        title,
        [Tick(place_x(x), f"{x:.0f}") for x in x_marks if x_low <= x <= x_high],
        [Tick(place_y(y), f"{y:.{digits}f}") for y in y_marks],
        {
            name: [Dot(place_x(x), place_y(y), f"{name}, {x}: {y:.4g}") for x, y in points]
            for name, points in series.items()
        },
    )


def _nice_ticks(values: Sequence[float], is_whole: bool = False) -> List[float]:
    """Round numbers that enclose all values; at least two of them."""
    from matplotlib.ticker import MaxNLocator

    low, high = min(values), max(values)
    if low == high:
        margin = 1.0 if is_whole else abs(low) / 10 or 1.0
        low, high = low - margin, high + margin
    locator = MaxNLocator(_MOST_TICKS, integer=is_whole, steps=[1, 2, 2.5, 5, 10])
    return [float(tick) for tick in locator.tick_values(low, high)]


def _digits(ticks: Sequence[float]) -> int:
    """As many digits after the point as tell the ticks apart."""
    for digits in range(6):
        if all(abs(round(tick, digits) - tick) < 1e-9 for tick in ticks):
            return digits
    return 6

import pytest

from bidaf_plugin.analysis.line_chart import HEIGHT, WIDTH, line_chart


class TestLineChart:
    def test_values_are_where_the_axes_say(self) -> None:
        chart = line_chart("F1", {"validation": [(0, 10.0), (1, 30.0), (2, 20.0)]})
        assert [tick.label for tick in chart.x_ticks] == ["0", "1", "2"]
        assert [tick.label for tick in chart.y_ticks] == ["10", "15", "20", "25", "30"]
        (dots,) = chart.series.values()
        assert [dot.x for dot in dots] == [tick.place for tick in chart.x_ticks]
        bottom, _, middle, _, top = (tick.place for tick in chart.y_ticks)
        assert [dot.y for dot in dots] == [bottom, top, middle]
        # Pixels count from the top.
        assert 0 < top < bottom < HEIGHT
        assert dots[1].text == "validation, 1: 30"

    @pytest.mark.parametrize("value", [0.0, 5.0, -3.0, 1e-7, 1e9])
    def test_a_single_value_is_in_the_middle(self, value: float) -> None:
        chart = line_chart("loss", {"training": [(3, value)]})
        ((dot,),) = chart.series.values()
        assert 0 < dot.x < WIDTH and 0 < dot.y < HEIGHT
        assert [tick.label for tick in chart.x_ticks] == ["3"]
        assert len(chart.y_ticks) >= 2

    def test_curves_share_the_axes(self) -> None:
        chart = line_chart("loss", {"training": [(0, 1.0), (1, 0.5)], "validation": [(1, 0.5)]})
        assert chart.series["training"][1][:2] == chart.series["validation"][0][:2]
        labels = [float(tick.label) for tick in chart.y_ticks]
        assert labels == sorted(set(labels)) and labels[0] <= 0.5 and labels[-1] >= 1.0

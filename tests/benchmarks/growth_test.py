import json
from pathlib import Path

import pytest

from benchmarks.growth import Point, slope, slopes, write_growth


class TestGrowth:
    def test_slope_is_the_exponent(self) -> None:
        sizes = [100, 300, 1000]
        assert slope(sizes, [3.0 * size for size in sizes]) == pytest.approx(1)
        assert slope(sizes, [0.1 * size**2 for size in sizes]) == pytest.approx(2)
        assert slope(sizes, [5.0, 5.0, 5.0]) == pytest.approx(0)

    def test_fixed_costs_do_not_hide_the_growth_of_the_larger_half(self) -> None:
        points = [Point("answering", n, 1 + n, n) for n in (1, 10, 1000, 3000)]
        found = slopes(points)
        assert found["seconds, all"] < 0.99
        assert found["seconds, larger half"] == pytest.approx(1, abs=0.01)
        assert found["memory_mib, all"] == pytest.approx(1)

    def test_writes_table_and_plots(self, tmp_path: Path) -> None:
        points = [Point("answering", 100, 0.1, 10), Point("answering", 200, 0.2, 20)]
        points += [Point("training", 8, 0.5, 50), Point("training", 16, 1.0, 100)]
        write_growth(points, tmp_path / "new" / "growth", num_threads=2)
        content = json.loads((tmp_path / "new" / "growth.json").read_text())
        assert content["slopes"]["training"]["seconds, all"] == pytest.approx(1)
        rows = (tmp_path / "new" / "growth.csv").read_text().splitlines()
        assert rows[0] == "what,size,seconds,memory_mib"
        assert rows[1:3] == ["answering,100,0.1,10", "answering,200,0.2,20"]
        assert (tmp_path / "new" / "growth.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (tmp_path / "new" / "growth.svg").read_text()

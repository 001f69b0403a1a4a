from pathlib import Path

from bidaf_plugin.analysis.figures import new_figure, save_figure


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

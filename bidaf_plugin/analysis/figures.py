"""
What all pictures share: how they look and how they are written.
"""

from typing import TYPE_CHECKING, Any, List

from bidaf_plugin.common.files import open_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that people tell apart whatever their eyes (Okabe and Ito), also when printed in grey.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")
_DOTS_PER_INCH = 200
# Of text on a printed page, in points; and what a line of it takes, in inches.
FONT_SIZE = 7
LINE_HEIGHT = 0.155


def new_figure(width: float, height: float) -> "Figure":
    """A figure of so many inches, apart from pyplot and its global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def show_only_axes(axes: "Axes") -> None:
    """Without the frame around the picture, and with faint lines for reading off values."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.yaxis.grid(alpha=0.3)
    axes.set_axisbelow(True)


def save_figure(figure: "Figure", path: str) -> List[str]:
    """
    Writes `path`.png and `path`.svg. The same figure makes the same files.

    # Returns

    `List[str]`
        Their paths.
    """
    from matplotlib import rc_context

    paths = [f"{path}.png", f"{path}.svg"]
    with rc_context({"svg.hashsalt": "bidaf_plugin"}):
        for file_path in paths:
            extension = file_path.rpartition(".")[2]
            with open_atomically(file_path, "wb") as file:
                # The only metadata that would differ from day to day.
                metadata = {"Date": None} if extension == "svg" else None
                figure.savefig(file, format=extension, dpi=_DOTS_PER_INCH, metadata=metadata)
    return paths


class PrintedPage:
    """
    A figure that is filled from top to bottom, with every place given in inches, so that words keep
    their size whatever their number.

    # Parameters

    width : `float`
    height : `float`
    """

    def __init__(self, width: float, height: float) -> None:
        self.figure = new_figure(width, height)
        self.figure.set_layout_engine("none")
        self._width = width
        self._height = height
        self._bottom = height

    def write(self, text: str, left: float = 0.05, stay: bool = False, **style: Any) -> None:
        """Adds lines of text. With `stay` what comes next will stand beside them."""
        bottom = self._bottom - LINE_HEIGHT * (1 + text.count("\n"))
        self.figure.text(
            left / self._width,
            bottom / self._height,
            plain(text),
            **{"fontsize": FONT_SIZE, "verticalalignment": "bottom", **style},
        )
        if not stay:
            self._bottom = bottom

    def add_axes(self, left: float, width: float, height: float, above: float) -> "Axes":
        """Adds a picture with so much room above it."""
        self._bottom -= height + above
        box = (
            left / self._width,
            self._bottom / self._height,
            width / self._width,
            height / self._height,
        )
        return self.figure.add_axes(box)


def plain(text: str) -> str:
    """Text that is shown as it is: between dollars matplotlib reads formulas."""
    return text.replace("$", r"\$")

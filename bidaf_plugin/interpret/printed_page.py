from typing import TYPE_CHECKING, Any

from bidaf_plugin.common.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of text, in points; and what a line of it takes, in inches.
FONT_SIZE = 7
LINE_HEIGHT = 0.155


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

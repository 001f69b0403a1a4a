"""
The files that show what a model attends to: a picture for print, after Fig. 3 of
[Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603), a page, and the numbers.
"""

import json
import math
import os
import textwrap
from typing import Any, Dict, Iterator, List, Sequence, Tuple

import numpy
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bidaf_plugin.analysis.attention import Attention
from bidaf_plugin.analysis.figures import new_figure, plain, save_figure
from bidaf_plugin.analysis.formats import file_name, render, write_csv
from bidaf_plugin.common.files import write_atomically

# First word of a line of the passage, and one past its last.
Line = Tuple[int, int]

# In inches: a page, a letter, and the cells of the matrix.
_WIDTH, _HEIGHT = 7.2, 9.6
_LETTER = 0.058
_COLUMN, _ROW = 0.128, 0.135
# Of text in points, and what a line of it takes in inches.
_FONT_SIZE = 7
_LINE_HEIGHT = 0.155
# Longer words are cut.
_MAX_LETTERS = 16
_ANSWER_COLOR, _GOLD_COLOR, _NOTE_COLOR = "#C1121F", "#00785A", "#646A73"


def write_attention(
    attention: Attention, folder: str, threshold: float = 0.5, whole_passage: bool = False
) -> List[str]:
    """
    Writes a picture (.png, .svg), a page (.html) and the numbers (.json, .csv), called by the id of the
    question, into `folder`, and returns their paths.
    """
    path = os.path.join(folder, file_name(attention.id))
    paths = save_figure(draw_attention(attention, threshold, whole_passage), path)
    write_atomically(f"{path}.html", render_attention(attention, threshold))
    write_atomically(f"{path}.json", json.dumps(attention.to_json()) + "\n")
    write_csv(f"{path}.csv", attention.rows())
    return [*paths, *(f"{path}.{extension}" for extension in ("html", "json", "csv"))]


def render_attention(attention: Attention, threshold: float = 0.5) -> str:
    """A page on which each word shows what it attends to."""
    weights = attention.passage_weights
    return render(
        "attention.html",
        title=attention.question,
        question_words=attention.question_words,
        passage=list(_passage_words(attention)),
        answer=attention.answer if attention.answer_words else None,
        confidence=f"{attention.confidence:.2g}",
        has_weights=weights is not None,
        has_gold=bool(attention.gold_words),
        threshold=f"{threshold:g}",
        strongest=attention.strongest(threshold),
        data={
            "matrix": attention.matrix.round(4).tolist(),
            "weights": None if weights is None else weights.round(6).tolist(),
        },
    )


def _passage_words(attention: Attention) -> Iterator[Tuple[str, str, str]]:
    """What stands before each word of the passage, the word, and whether an answer has it."""
    first, last = attention.answer_words or (0, -1)
    end = 0
    for index, (start, next_end) in enumerate(attention.passage_offsets):
        kinds = []
        if first <= index <= last:
            kinds.append("answer")
        if any(first_gold <= index <= last_gold for first_gold, last_gold in attention.gold_words):
            kinds.append("gold")
        yield attention.passage[end:start], attention.passage[start:next_end], " ".join(kinds)
        end = next_end


class _PrintedPage:
    """
    A figure that is filled from top to bottom, with everything given in inches, so that words keep their
    size whatever their number.
    """

    def __init__(self, height: float) -> None:
        self.figure = new_figure(_WIDTH, height, is_fixed=True)
        self._height = self._bottom = height

    def write(self, text: str, left: float = 0.05, stay: bool = False, **style: Any) -> None:
        """Adds lines of text. With `stay` what comes next will stand beside them."""
        bottom = self._bottom - _LINE_HEIGHT * (1 + text.count("\n"))
        style = {"fontsize": _FONT_SIZE, "verticalalignment": "bottom", **style}
        inches = self.figure.dpi_scale_trans
        self.figure.text(left, bottom, plain(text), transform=inches, **style)
        if not stay:
            self._bottom = bottom

    def add_axes(self, left: float, width: float, height: float, above: float) -> Axes:
        """Adds a picture with so much room above it."""
        self._bottom -= height + above
        bottom, share = self._bottom / self._height, height / self._height
        return self.figure.add_axes((left / _WIDTH, bottom, width / _WIDTH, share))


def choose_lines(attention: Attention, words_per_line: int, max_lines: int) -> List[Line]:
    """
    Cuts the passage into lines of similar length, and chooses those to show: the ones with the answer,
    and of the others those that matter most to the question. They stay in order.
    """
    num_words = len(attention.passage_words)
    length = math.ceil(num_words / math.ceil(num_words / words_per_line))
    lines = [(start, min(start + length, num_words)) for start in range(0, num_words, length)]
    weights = attention.passage_weights
    if weights is None:
        weights = attention.matrix.max(axis=0)
    first, last = attention.answer_words or (0, -1)

    def interest(line: Line) -> Tuple[bool, float]:
        start, end = line
        return first < end and last >= start, float(weights[start:end].sum())

    return sorted(sorted(lines, key=interest, reverse=True)[: max(max_lines, 1)])


def draw_attention(
    attention: Attention, threshold: float = 0.5, whole_passage: bool = False
) -> Figure:
    """
    The attention matrix, one row per question word, with the passage words as columns, in as many
    lines as they need and a page has; under it the weights of the passage words; and for each question
    word the passage words whose attention to it is at least `threshold`.

    With `whole_passage` there are all lines, even if they take more than a page.
    """
    row_labels = [_short(word) for word in attention.question_words]
    if attention.passage_weights is not None:
        row_labels.append("passage weight")
    left = _LETTER * max(map(len, row_labels)) + 0.15
    question = textwrap.fill(attention.question, 95)
    strongest = _describe_strongest(attention, threshold, int((_WIDTH - left) / _LETTER))
    text_height = _LINE_HEIGHT * (question.count("\n") + len(strongest) + 7)
    matrix_height = _ROW * len(row_labels)
    line_height = matrix_height + _height_of(attention.passage_words)
    max_lines = 10_000 if whole_passage else int((_HEIGHT - text_height) / line_height)
    lines = choose_lines(attention, int((_WIDTH - left) / _COLUMN), max_lines)
    above = [_height_of(attention.passage_words[start:end]) for start, end in lines]

    page = _PrintedPage(text_height + sum(above) + matrix_height * len(lines))
    page.write(question, fontsize=9, fontweight="bold")
    answer = f"“{textwrap.shorten(attention.answer, 100)}”" if attention.answer_words else "none"
    page.write(f"Answer: {answer}, with confidence {attention.confidence:.2g}", color=_ANSWER_COLOR)
    colors = "Blue: attention, from 0 (white) to 1."
    if attention.passage_weights is not None:
        colors += " Orange: weights, up to the largest."
    if attention.gold_words:
        colors += " Green: further words of gold answers."
    page.write(colors, color=_NOTE_COLOR)
    page.write(_describe_lines(attention, lines), color=_NOTE_COLOR)
    for (start, end), word_height in zip(lines, above, strict=True):
        axes = page.add_axes(left, _COLUMN * (end - start), matrix_height, word_height)
        _draw_line(axes, attention, (start, end))
        axes.set_yticks(range(len(row_labels)), row_labels, fontsize=_FONT_SIZE)
    page.write("")
    page.write(f"Passage words with attention of {threshold:g} or more:", color=_NOTE_COLOR)
    for word, description in strongest:
        page.write(word, left - 0.05, stay=True, horizontalalignment="right", fontweight="bold")
        page.write(description, left)
    return page.figure


def _draw_line(axes: Axes, attention: Attention, line: Line) -> None:
    """A line of the passage: the matrix, and below it the weights of the words."""
    start, end = line
    num_rows = len(attention.question_words)
    columns, rows = numpy.arange(end - start + 1) - 0.5, numpy.arange(num_rows + 1) - 0.5
    style: Dict[str, Any] = {"vmin": 0, "edgecolors": "#e4e6ea", "linewidth": 0.3}
    axes.pcolormesh(columns, rows, attention.matrix[:, start:end], cmap="Blues", vmax=1, **style)
    weights = attention.passage_weights
    if weights is not None:
        rows, num_rows = rows[-1] + numpy.arange(2), num_rows + 1
        strip = weights[numpy.newaxis, start:end]
        axes.pcolormesh(columns, rows, strip, cmap="Oranges", vmax=weights.max(), **style)
    axes.set_ylim(num_rows - 0.5, -0.5)
    axes.spines[:].set_visible(False)
    words = [_short(word) for word in attention.passage_words[start:end]]
    axes.set_xticks(range(len(words)), words, fontsize=_FONT_SIZE, rotation=90)
    axes.tick_params(length=0, pad=2, top=True, labeltop=True, bottom=False, labelbottom=False)
    for span in attention.gold_words:
        _mark(axes, line, span, _GOLD_COLOR)
    if attention.answer_words is not None:
        left, right = _mark(axes, line, attention.answer_words, _ANSWER_COLOR)
        for edge in (left, right) if left < right else ():
            axes.axvline(edge - 0.5, color=_ANSWER_COLOR, linewidth=1, clip_on=False)


def _mark(axes: Axes, line: Line, span: Tuple[int, int], color: str) -> Tuple[int, int]:
    """Colours the words of a span, and says in which columns they are."""
    start, end = line
    left, right = max(span[0], start) - start, min(span[1] + 1, end) - start
    if left < right:
        for label in axes.get_xticklabels()[left:right]:
            label.set(color=color, fontweight="bold")
    return left, right


def _short(word: str) -> str:
    return plain(word if len(word) <= _MAX_LETTERS else word[: _MAX_LETTERS - 1] + "…")


def _height_of(words: Sequence[str]) -> float:
    """Of the longest of the words, which stand upright."""
    return _LETTER * max(len(_short(word)) for word in words) + 0.2


def _describe_lines(attention: Attention, lines: List[Line]) -> str:
    num_words = len(attention.passage_words)
    if sum(end - start for start, end in lines) == num_words:
        return f"The whole passage of {num_words} words."
    ranges = ", ".join(f"{start + 1}–{end}" for start, end in lines)
    return f"Words {ranges} of the {num_words} words of the passage."


def _describe_strongest(
    attention: Attention, threshold: float, num_letters: int
) -> List[Tuple[str, str]]:
    """For each question word that any passage word attends to: these words."""
    described = []
    for word, found in attention.strongest(threshold):
        names = " · ".join(f"{name} {weight:.2f}" for name, weight in found.items())
        described.append((_short(word), textwrap.shorten(names, num_letters, placeholder=" …")))
    return described or [("", "none")]

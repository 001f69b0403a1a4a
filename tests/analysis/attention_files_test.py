import csv
import json
from pathlib import Path
from typing import Any, List

import numpy
from matplotlib.figure import Figure

from bidaf_plugin.analysis.attention_files import (
    choose_lines,
    draw_attention,
    render_attention,
    write_attention,
)
from tests.analysis.attention_helpers import make_attention
from tests.html_helpers import HOSTILE, Page, needs_chromium, open_in_chromium

HOSTILE_ATTENTION = make_attention(
    question=HOSTILE,
    passage=HOSTILE + " w1 w2 w3",
    answer=HOSTILE,
    question_words=[HOSTILE, "not"],
    passage_words=[HOSTILE, "w1", "w2", "w3"],
    passage_offsets=[
        (0, len(HOSTILE)),
        *((len(HOSTILE) + 3 * n + 1, len(HOSTILE) + 3 * n + 3) for n in range(3)),
    ],
)


class TestAttentionFiles:
    def test_five_files_with_the_same_numbers(self, tmp_path: Path) -> None:
        attention = make_attention()
        paths = write_attention(attention, str(tmp_path))
        assert sorted(Path(path).name for path in paths) == [
            f"q1.{extension}" for extension in ("csv", "html", "json", "png", "svg")
        ]
        assert {path.name for path in tmp_path.iterdir()} == {Path(path).name for path in paths}
        record = json.loads((tmp_path / "q1.json").read_text())
        numpy.testing.assert_allclose(record["matrix"], attention.matrix, atol=1e-6)
        with open(tmp_path / "q1.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert [float(row["Why"]) for row in rows] == [1.0, 0.666667, 0.333333, 0.0]
        assert (tmp_path / "q1.png").read_bytes().startswith(b"\x89PNG")

    def test_no_word_is_a_formula(self, tmp_path: Path) -> None:
        words = ["=1+1", "@w", "-3", "w3"]
        attention = make_attention(passage_words=words, question_words=["+1", "not"])
        write_attention(attention, str(tmp_path))
        with open(tmp_path / "q1.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        assert rows[0][3:] == ["'+1", "not"]
        assert [row[1] for row in rows[1:]] == ["'=1+1", "'@w", "'-3", "w3"]

    def test_the_page_has_the_words_in_order_with_marks(self) -> None:
        page = render_attention(make_attention())
        assert '<span class="word answer gold" data-place="1">w1</span> <span' in page
        assert '<span class="word gold" data-place="2">w2</span>' in page
        passage = page[page.index('id="passage"') :]
        assert passage.index(">w0<") < passage.index(">w1<") < passage.index(">w3<")

    def test_no_text_becomes_markup(self) -> None:
        page = Page(render_attention(HOSTILE_ATTENTION))
        page.assert_loads_nothing()
        assert page.count("script") == 2
        assert page.data["matrix"][0][0] == 1.0
        assert HOSTILE in page.texts["strong"]
        assert page.texts["span"].count(HOSTILE) == 2

    @needs_chromium
    def test_a_browser_shows_it_without_complaints(self, tmp_path: Path) -> None:
        path = tmp_path / "page.html"
        path.write_text(render_attention(HOSTILE_ATTENTION), encoding="utf-8")
        page, complaints = open_in_chromium(path)
        assert complaints == ""
        assert page.texts["title"] == [HOSTILE]
        words = [attributes for name, attributes in page.elements if name == "span"]
        # The passage shows its weights, which are all the same.
        assert sum("--weight: 0.75" in (word.get("style") or "") for word in words) == 4


def texts_of(figure: Figure) -> List[str]:
    return [text.get_text() for text in figure.texts]


class TestChooseLines:
    def test_all_lines_are_of_similar_length(self) -> None:
        assert choose_lines(make_attention(10), 20, 9) == [(0, 10)]
        assert choose_lines(make_attention(21), 10, 9) == [(0, 7), (7, 14), (14, 21)]

    def test_the_answer_and_what_matters_most_are_kept_in_order(self) -> None:
        weights = numpy.zeros(40)
        weights[35] = 1
        attention = make_attention(40, passage_weights=weights, answer_words=(19, 20))
        assert choose_lines(attention, 10, 3) == [(10, 20), (20, 30), (30, 40)]
        assert choose_lines(attention, 10, 1) == [(10, 20)]

    def test_without_weights_the_strongest_attention_counts(self) -> None:
        matrix = numpy.zeros((2, 20))
        matrix[1, 15] = 1
        attention = make_attention(
            20, matrix=matrix, passage_weights=None, answer_words=None, answer=""
        )
        assert choose_lines(attention, 10, 1) == [(10, 20)]


class TestDrawAttention:
    def test_cells_and_words_stand_where_they_belong(self) -> None:
        attention = make_attention()
        (axes,) = draw_attention(attention).axes
        arrays: Any = [collection.get_array() for collection in axes.collections]
        matrix, weights = arrays
        numpy.testing.assert_allclose(matrix, attention.matrix)
        # A golden value: the attention of the second passage word to the first question word.
        assert matrix[0, 1] == 1 - 1 / 3
        assert weights.tolist() == [[0.25, 0.25, 0.25, 0.25]]
        assert [label.get_text() for label in axes.get_xticklabels()] == ["w0", "w1", "w2", "w3"]
        assert [label.get_text() for label in axes.get_yticklabels()] == [
            "Why",
            "not",
            "passage weight",
        ]
        # The first row is on top.
        assert axes.yaxis_inverted()

    def test_the_answer_is_red_and_gold_answers_are_green(self) -> None:
        (axes,) = draw_attention(make_attention()).axes
        colors = [label.get_color() for label in axes.get_xticklabels()]
        assert colors == ["black", "#C1121F", "#00785A", "black"]

    def test_a_long_passage_takes_lines_and_says_what_is_missing(self) -> None:
        figure = draw_attention(make_attention(600))
        assert figure.get_size_inches()[1] <= 9.6
        assert any(text.endswith("of the 600 words of the passage.") for text in texts_of(figure))
        whole = draw_attention(make_attention(600), whole_passage=True)
        labels = [label.get_text() for axes in whole.axes for label in axes.get_xticklabels()]
        assert labels == [f"w{number}" for number in range(600)]
        assert "The whole passage of 600 words." in texts_of(whole)

    def test_words_above_the_threshold_are_named(self) -> None:
        texts = texts_of(draw_attention(make_attention(), threshold=0.6))
        assert "w0 1.00 · w1 0.67" in texts
        assert "w3 1.00 · w2 0.67" in texts

    def test_dollars_are_no_formulas_and_long_words_are_cut(self, tmp_path: Path) -> None:
        words = ["$5$", "x^2$", "_" * 60, "w3"]
        attention = make_attention(passage_words=words, question="How much is $5 or $6 {?")
        figure = draw_attention(attention, threshold=0.1)
        figure.savefig(tmp_path / "figure.png")
        assert len(figure.axes[0].get_xticklabels()[2].get_text()) == 16

from pathlib import Path
from typing import Any, List

import numpy
from matplotlib.figure import Figure

from bidaf_plugin.analysis.attention_figure import choose_lines, draw_attention
from tests.analysis.attention_helpers import make_attention


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

from typing import Any, List

import pytest

from bidaf_plugin.analysis.word_map import MapPoint, draw_word_map, map_rows, map_words
from bidaf_plugin.common.errors import DataError
from tests.analysis.attention_helpers import tiny_predictor
from tests.helpers import TINY_SQUAD


def make_map(words: List[str], **arguments: int) -> List[MapPoint]:
    predictor = tiny_predictor()
    instances = list(predictor._dataset_reader.read(str(TINY_SQUAD)))
    return map_words(predictor, instances, words, **arguments)


class TestMapWords:
    def test_a_point_for_each_spelling_and_for_each_occurrence(self) -> None:
        points = make_map(["its", "THE"], num_others=20)
        spellings = [point.word for point in points if point.space == "word"]
        assert spellings == ["Its", "The", "its", "the"]
        occurrences = [point.word for point in points if point.space == "contextual"]
        assert occurrences == ["Its"] * 2 + ["The"] * 3 + ["its"] + ["the"] * 3
        for point in points:
            assert (point.word in point.context.split()) == (point.space == "contextual")

    def test_the_same_seed_makes_the_same_map(self) -> None:
        arguments = {"seed": 3, "max_occurrences": 2, "num_others": 20}
        points = make_map(["the"], **arguments)
        assert points == make_map(["the"], **arguments)
        assert [point.word for point in points if point.space == "contextual"] == [
            "The",
            "The",
            "the",
            "the",
        ]

    def test_few_points_and_no_points(self) -> None:
        points = make_map(["quince"], num_others=0)
        assert [point.word for point in points] == ["quince", "quince"]
        with pytest.raises(DataError, match="none of the words Zzz, May"):
            make_map(["Zzz", "May"])

    def test_rows(self) -> None:
        header, row = map_rows([MapPoint("word", "May", 1.5, -2.0, "")])
        assert header == ["space", "word", "x", "y", "context"]
        assert row == ["word", "May", 1.5, -2.0, ""]


class TestDrawWordMap:
    points = [
        MapPoint("word", "May", 0.0, 0.0, ""),
        MapPoint("word", "may", 0.1, 0.0, ""),
        MapPoint("word", "June", 5.0, 1.0, ""),
        MapPoint("contextual", "May", 0.0, 0.0, "in May"),
        MapPoint("contextual", "May", 1.0, 0.0, "of May"),
        MapPoint("contextual", "may", 9.0, 4.0, "they may"),
        MapPoint("contextual", "June", 1.0, 1.0, "in June"),
    ]

    def test_points_stand_where_they_belong(self) -> None:
        _, contextual = draw_word_map(self.points).axes
        offsets: Any = [collection.get_offsets() for collection in contextual.collections]
        may, lowercase_may, june = offsets
        assert may.shape == (2, 2)
        # A golden value: the picture is 200 points wide for 9 units, around its middle at 130.
        assert may[1].tolist() == pytest.approx([130 + (1 - 4.5) * 200 / 9, 130 - 2 * 200 / 9])
        assert lowercase_may[0].tolist() == pytest.approx([230, 130 + 2 * 200 / 9])
        assert june[0, 1] > may[0, 1]

    def test_each_spelling_has_a_label_and_senses_have_shapes(self) -> None:
        for axes in draw_word_map(self.points).axes:
            assert [text.get_text() for text in axes.texts] == ["May", "may", "June"]
            collections: Any = axes.collections
            capitalised, lowercase, _ = collections
            assert len(capitalised.get_facecolors()) == 1
            assert len(lowercase.get_facecolors()) == 0
            assert (capitalised.get_edgecolors() == lowercase.get_edgecolors()).all()

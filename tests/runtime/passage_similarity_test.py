import math

import pytest

from bidaf_plugin.runtime.passage_similarity import similarities


class TestSimilarities:
    def test_is_the_cosine_of_weighted_words(self) -> None:
        found = similarities(["Who", "built", "mills"], [["mills", "turn"], ["Built", "x", "x"]])
        # "who" is nowhere. The other words stand in one of two passages each.
        idf = math.log(1 + 2 / 1)
        question_norm = math.sqrt(2) * idf
        first = idf * idf / (question_norm * math.sqrt(2) * idf)
        second_norm = math.sqrt(idf**2 + ((1 + math.log(2)) * idf) ** 2)
        second = idf * idf / (question_norm * second_norm)
        assert found == [pytest.approx(first), pytest.approx(second)]

    def test_rare_words_count_more(self) -> None:
        passages = [["the", "mill"], ["the", "lake"], ["the", "road"]]
        the_mill, the_lake, the_road = similarities(["the", "mill"], passages)
        assert the_mill > the_lake == the_road > 0

    def test_nothing_in_common_is_zero_and_all_in_common_is_one(self) -> None:
        found = similarities(["a", "b"], [["b", "A"], ["c"]])
        assert found == [pytest.approx(1.0), 0.0]
        assert similarities(["x"], [["c"], ["d"]]) == [0.0, 0.0]

from typing import Dict, List, Optional

import pytest

from bidaf_plugin.data.dataset_readers.cloze_text import (
    TokenTable,
    find_windows,
    number_entities,
    number_words,
)


class TestClozeText:
    def test_number_entities(self) -> None:
        number_of: Dict[str, int] = {}
        words = ["@entity7", "saw", "@entity2", "and", "@entity7", "@", "@entity2x"]
        assert number_entities(words, number_of) == ([0, 2, 4], [0, 1, 0])
        assert number_of == {"@entity7": 0, "@entity2": 1}
        assert number_entities(["@entity1", "@entity2"], number_of) == ([0, 1], [2, 1])
        # Words without names of entities do not depend on how these were called.
        renamed = ["@entity2", "saw", "@entity5", "and", "@entity2", "@", "@entity2x"]
        number_entities(renamed, {})
        assert renamed == words

    @pytest.mark.parametrize(
        "window, expected",
        [
            (1, [[0, 1], [4, 5], [9, 10]]),
            (5, [[0, 3], [2, 7], [7, 10]]),
            (19, [[0, 10], [0, 10], [0, 10]]),
            (None, [[0, 10]]),
        ],
    )
    def test_find_windows(self, window: Optional[int], expected: List[List[int]]) -> None:
        assert find_windows([0, 4, 9], 10, window).tolist() == expected

    def test_no_entities_have_no_windows(self) -> None:
        assert find_windows([], 10, 19).shape == (0, 2)

    def test_number_words(self) -> None:
        distinct_words, word_numbers = number_words(["b", "a", "b", "c"])
        assert distinct_words == ["b", "a", "c"]
        assert word_numbers.tolist() == [0, 1, 0, 2]

    def test_tokens(self) -> None:
        words = ["@entity7", "Saw", "@entity2", "@@ENTITY0@@", "@placeholder"]
        number_entities(words, {})
        table = TokenTable()
        tokens = [table[word] for word in words]
        assert [token.text for token in tokens] == [
            "@entity", "saw", "@entity", "@@entity0@@", "@placeholder",
        ]  # fmt: skip
        assert [token.ent_type_ for token in tokens] == [
            "@@ENTITY0@@", None, "@@ENTITY1@@", None, "@@PLACEHOLDER@@",
        ]  # fmt: skip
        assert table[words[1]] is tokens[1]

    def test_very_long_words_are_not_remembered(self) -> None:
        table = TokenTable()
        assert table["X" * 100].text == table["X" * 1_000_000].text == "x" * 100
        assert list(table) == ["X" * 100]

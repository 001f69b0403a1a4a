from typing import Callable, Sequence

import numpy
import pytest

from bidaf_plugin.runtime.word_rows import (
    RowTable,
    mark_forms,
    rows_of_characters,
    rows_of_forms,
    rows_of_words,
)

WORDS = [f"word{number}" for number in range(20)]
INDEX = {"the": 2, "cat": 3, "c": 4, "a": 5, "t": 6}


def index_of(item: str) -> int:
    return INDEX.get(item, 1)


def make_rows(words: Sequence[str]) -> numpy.ndarray:
    return numpy.array([int(word.removeprefix("word")) for word in words])


class TestRowTable:
    def test_words_that_come_meanwhile_have_their_rows_the_next_time(self) -> None:
        words = WORDS[:2]

        def make_rows_slowly(new_words: Sequence[str]) -> numpy.ndarray:
            rows = make_rows(new_words)
            if len(words) < 4:
                words.append(WORDS[len(words)])
            return rows

        table = RowTable(make_rows_slowly)
        for _ in range(3):
            rows = table.rows(words)
        assert rows[: len(words)].tolist() == [0, 1, 2, 3]

    def test_an_interrupt_leaves_the_table_as_it_was(self) -> None:
        make: Callable[[Sequence[str]], numpy.ndarray]

        def fail(words: Sequence[str]) -> numpy.ndarray:
            raise KeyboardInterrupt

        table = RowTable(lambda words: make(words))
        for num_words in (2, 3, 9):
            make = fail
            with pytest.raises(KeyboardInterrupt):
                table.rows(WORDS[:num_words])
            make = make_rows
            assert table.rows(WORDS[:num_words])[:num_words].tolist() == [*range(num_words)]


class TestRows:
    def test_of_words(self) -> None:
        assert rows_of_words(["The", "cat", "sat"], index_of, True).tolist() == [2, 3, 1]
        assert rows_of_words(["The", "cat", "sat"], index_of, False).tolist() == [1, 3, 1]

    def test_of_characters_are_cut_and_padded(self) -> None:
        rows = rows_of_characters(["cat", "", "tac\0a", "Ct"], index_of, 4)
        assert rows.tolist() == [[4, 5, 6, 0], [0, 0, 0, 0], [6, 5, 4, 1], [1, 6, 0, 0]]
        assert rows_of_characters([], index_of, 4).shape == (0, 4)

    def test_of_forms_are_the_same_for_the_same_stem(self) -> None:
        played, plays, upper = rows_of_forms(["played", "plays", "Played"])
        assert played[0] != plays[0] and played[1] != plays[1] and played[2] == plays[2]
        assert played[0] != upper[0] and played[1:].tolist() == upper[1:].tolist()

    def test_marks_say_which_forms_the_other_text_has(self) -> None:
        forms = numpy.array([[[1, 2, 3], [11, 5, 6], [12, 13, 6], [20, 21, 22], [0, 0, 0]]])
        others = numpy.array([[[1, 2, 3], [10, 5, 6], [0, 0, 0]]])
        assert mark_forms(forms, others).tolist() == [[8, 4, 2, 1, 0]]
        assert mark_forms(others, forms).tolist() == [[8, 4, 0]]

from dataclasses import replace
from pathlib import Path
from typing import List

import pytest

from bidaf_plugin.analysis.files import read_gold_paragraphs
from bidaf_plugin.analysis.wrong_answers import (
    AnsweredQuestion,
    Span,
    answered_questions,
    draw_sample,
    find_text,
    mark_passage,
)
from tests.analysis.squad_helpers import PASSAGE, question, squad, write


def answer(folder: Path, prediction: str, *gold: str) -> AnsweredQuestion:
    data = squad(question("a", gold, is_impossible=not gold), question("unanswered"))
    paragraphs = read_gold_paragraphs(write(folder / "data.json", data))
    (item,) = answered_questions(paragraphs, {"a": prediction, "other": "x"})
    return item


class TestAnsweredQuestions:
    def test_what_there_is_to_see(self, tmp_path: Path) -> None:
        item = answer(tmp_path, "built the mill", "Ada Orn", "Ada Orn built", "Ada Orn")
        assert item.answers == ("Ada Orn", "Ada Orn built")
        assert (item.em, item.f1) == (0, pytest.approx(2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3)))
        assert item.has_overlap
        assert [tuple(stretch) for stretch in item.passage[:3]] == [
            ("Ada Orn ", "right"), ("built", "both"), (" the mill", "wrong"),
        ]  # fmt: skip
        assert item.passage_text == PASSAGE

    @pytest.mark.parametrize(
        "prediction, gold, has_overlap",
        [
            ("mill", "the mill", True),
            ("the mill in 1871. It", "It burned", True),
            # The same word elsewhere is no overlap.
            ("burned down", "Jon Ber", False),
            ("the quay", "the mill", False),
            # What stands several times counts if it does at one place.
            ("the", "the quay", True),
            # Not a stretch of the passage: words in common decide.
            ("mill the 1871", "the mill", True),
            ("nothing", "the mill", False),
            ("", "the mill", False),
        ],
    )
    def test_overlap(self, tmp_path: Path, prediction: str, gold: str, has_overlap: bool) -> None:
        assert answer(tmp_path, prediction, gold).has_overlap is has_overlap

    def test_a_question_without_an_answer(self, tmp_path: Path) -> None:
        item = answer(tmp_path, "the mill")
        assert item.answers == () and not item.has_overlap and item.em == 0


class TestFindText:
    @pytest.mark.parametrize(
        "text, spans",
        [
            ("1871", [(3, 7)]),
            ("( 1871 )", [(2, 8)]),
            ("(1871)", [(2, 8)]),
            ("71", []),
            ("a", [(0, 1), (14, 15)]),
            (".*", []),
            ("  ", []),
        ],
    )
    def test_blanks_do_not_matter_and_words_stay_whole(self, text: str, spans: List[Span]) -> None:
        assert find_text(text, "a (1871) 1,0a a.") == spans


class TestMarkPassage:
    def test_stretches_are_cut_at_all_borders(self) -> None:
        stretches = mark_passage("abcdef", [(1, 3), (1, 4)], [(3, 5)])
        assert [tuple(stretch) for stretch in stretches] == [
            ("a", ""), ("bc", "right"), ("d", "both"), ("e", "wrong"), ("f", ""),
        ]  # fmt: skip

    def test_nothing_to_mark(self) -> None:
        assert [tuple(stretch) for stretch in mark_passage("abc", [], [])] == [("abc", "")]


class TestDrawSample:
    def test_the_seed_decides_and_the_order_stays(self, tmp_path: Path) -> None:
        item = answer(tmp_path, "x", "Ada Orn")
        questions = [replace(item, id=str(number)) for number in range(100)]
        drawn = [question.id for question in draw_sample(questions, 10, seed=1)]
        assert len(set(drawn)) == 10 and drawn == sorted(drawn, key=int)
        assert drawn == [question.id for question in draw_sample(questions, 10, seed=1)]
        assert drawn != [question.id for question in draw_sample(questions, 10, seed=2)]
        assert draw_sample(questions, 1000, seed=1) == questions

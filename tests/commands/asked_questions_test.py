import argparse
from typing import List

import pytest

from bidaf_plugin.commands.asked_questions import (
    AskedQuestion,
    add_question_arguments,
    asked_questions,
)
from bidaf_plugin.common.errors import DataError
from tests.helpers import TINY_SQUAD


def ask(*arguments: str) -> List[AskedQuestion]:
    parser = argparse.ArgumentParser()
    add_question_arguments(parser)
    return asked_questions(parser.parse_args(arguments))


class TestAskedQuestions:
    def test_texts(self) -> None:
        assert ask("--question", "Who?", "--passage", "Ada.") == [
            AskedQuestion("", "Who?", "Ada.", [])
        ]

    def test_ids_in_the_order_in_which_they_are_given(self) -> None:
        questions = ask("--data", str(TINY_SQUAD), "--ids", "tiny-5, tiny-1")
        assert [question.id for question in questions] == ["tiny-5", "tiny-1"]
        assert questions[1].question == "Who planted the orchard?"
        assert questions[1].answers[0].text == "Marta Venn"

    def test_an_unknown_id_is_named(self) -> None:
        with pytest.raises(DataError, match="tiny.json: there is no question with the id 'x'"):
            ask("--data", str(TINY_SQUAD), "--ids", "tiny-1,x")

    @pytest.mark.parametrize(
        "arguments",
        [
            [],
            ["--question", "Who?"],
            ["--data", "x.json"],
            ["--question", "Who?", "--passage", "Ada.", "--ids", "x"],
        ],
    )
    def test_anything_else_is_an_error(self, arguments: List[str]) -> None:
        with pytest.raises(DataError, match="either --question and --passage, or --data and --ids"):
            ask(*arguments)

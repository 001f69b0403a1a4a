import random

import pytest

from bidaf_plugin.analysis.breakdown import break_down
from bidaf_plugin.analysis.scores import QuestionScore, mean_em, mean_f1


def make_score(question: str, em: float = 1, answer: str = "x") -> QuestionScore:
    return QuestionScore("id", question, (answer,) if answer else (), "x", em, em)


class TestBreakDown:
    def test_by_first_word_the_most_frequent_first(self) -> None:
        questions = [f"w{number} it?" for number in range(12) for _ in range(20 - number)]
        scores = [make_score(text, em=float(text.startswith("w1 "))) for text in questions]
        groups = break_down(scores)["first word"]
        assert [group.label for group in groups] == [*(f"w{n}" for n in range(10)), "(other)"]
        assert [group.num_questions for group in groups] == [*range(20, 10, -1), 10 + 9]
        assert [group.em for group in groups] == [0, 100, *[0] * 9]

    def test_by_lengths(self) -> None:
        answers = ["", "a", "a b", "a b c", "a b c d", "a b c d e", "a " * 6, "a " * 11]
        scores = [make_score("who " * (3 + 3 * n), answer=text) for n, text in enumerate(answers)]
        breakdown = break_down(scores)
        assert [(group.label, group.num_questions) for group in breakdown["answer length"]] == [
            ("no answer", 1), ("1", 1), ("2", 1), ("3", 1), ("4-5", 2), ("6-10", 1), ("11 and more", 1),
        ]  # fmt: skip
        # 3, 6, 9, 12, 15, 18, 21 and 24 words.
        assert [(group.label, group.num_questions) for group in breakdown["question length"]] == [
            ("1-6", 2), ("7-9", 1), ("10-12", 1), ("13-15", 1), ("16-20", 1), ("21 and more", 2),
        ]  # fmt: skip

    @pytest.mark.parametrize("seed", range(5))
    def test_every_question_is_in_one_group_of_each_aspect(self, seed: int) -> None:
        generator = random.Random(seed)
        scores = [
            QuestionScore(
                "id",
                " ".join(generator.choices("abcdefghijklmnop", k=generator.randint(1, 30))),
                tuple("x " * generator.randint(1, 15) for _ in range(generator.randint(0, 3))),
                "x",
                generator.randint(0, 1),
                generator.random(),
            )
            for _ in range(100)
        ]
        for groups in break_down(scores).values():
            assert sum(group.num_questions for group in groups) == 100
            for mean, name in ((mean_em, "em"), (mean_f1, "f1")):
                total = sum(group.num_questions * getattr(group, name) for group in groups)
                assert total / 100 == pytest.approx(mean(scores))

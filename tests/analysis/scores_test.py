import random
from typing import Dict, List

import pytest

from bidaf_plugin.analysis.files import questions_of, read_gold_paragraphs, read_predictions
from bidaf_plugin.analysis.scores import (
    QuestionScore,
    apply_threshold,
    break_down,
    find_best_thresholds,
    mean_em,
    mean_f1,
    score_questions,
    summarize,
)
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.squad_json import GoldAnswer, Question
from bidaf_plugin.training.metrics import SquadEmAndF1
from tests.helpers import REAL_DATA, needs_real_data


def make_question(id: str, *answers: str, text: str = "Who was it?") -> Question:
    return Question(id, text, [GoldAnswer(answer, 0) for answer in answers], not answers)


class TestScoreQuestions:
    def test_version_1(self) -> None:
        questions = [
            make_question("a", "Ada Orn", "Orn"),
            make_question("b", "the mill"),
            make_question("c", "1871"),
            make_question("d", "a"),
        ]
        predictions = {"a": "orn!", "b": "old mill", "d": "the", "other": "1871"}
        scores = score_questions(questions, predictions)
        assert [score.em for score in scores] == [1, 0, 0, 1]
        # 'old mill' has half of its words right, and all of the right ones. Without words there is no
        # F1 in version 1.1, even where nothing is wrong.
        precision, recall = 1 / 2, 1 / 1
        half_right = 2 * precision * recall / (precision + recall)
        assert [score.f1 for score in scores] == [1, pytest.approx(half_right), 0, 0]
        assert [score.prediction for score in scores] == ["orn!", "old mill", None, "the"]
        assert summarize(scores) == {
            "exact_match": 100 * (1 + 0 + 0 + 1) / 4,
            "f1": pytest.approx(100 * (1 + half_right + 0 + 0) / 4),
            "total": 4,
        }

    def test_version_2(self) -> None:
        questions = [
            make_question("a", "Ada Orn"),
            make_question("b", "the mill"),
            make_question("c"),
            make_question("d"),
            make_question("e"),
            make_question("f"),
        ]
        predictions = {"a": "Ada", "b": "", "c": "", "d": "Ada", "e": "the"}
        scores = score_questions(questions, predictions)
        # 'the' says nothing, which is right where there is no answer; saying nothing of "f" is not.
        assert [score.em for score in scores] == [0, 0, 1, 0, 1, 0]
        one_of_two = 2 * 1 * 0.5 / (1 + 0.5)
        assert [score.f1 for score in scores] == [pytest.approx(one_of_two), 0, 1, 0, 1, 0]
        assert summarize(scores) == {
            "exact": 100 * 2 / 6,
            "f1": pytest.approx(100 * (one_of_two + 2) / 6),
            "total": 6,
            "HasAns_exact": 0,
            "HasAns_f1": pytest.approx(100 * one_of_two / 2),
            "HasAns_total": 2,
            "NoAns_exact": 100 * 2 / 4,
            "NoAns_f1": 100 * 2 / 4,
            "NoAns_total": 4,
        }

    def test_gold_answers_without_words_do_not_count_in_version_2(self) -> None:
        # The dev set has a question with the gold answer '.' among others.
        questions = [make_question("a", "power", "."), make_question("b")]
        scores = score_questions(questions, {"a": ".", "b": "."})
        assert [score.em for score in scores] == [score.f1 for score in scores] == [0, 1]

    def test_version_2_without_any_answer(self) -> None:
        summary = summarize(score_questions([make_question("a")], {"a": ""}))
        assert summary["exact"] == summary["NoAns_exact"] == 100
        assert "HasAns_exact" not in summary

    @pytest.mark.parametrize(
        "text, word, length",
        [
            ("What's  the mill?", "what's", 3),
            ('"In" what year', "in", 3),
            ("  ... How?", "how", 2),
            ("?", "", 1),
        ],
    )
    def test_words_of_a_question(self, text: str, word: str, length: int) -> None:
        (score,) = score_questions([make_question("a", "x y z", "x y", text=text)], {})
        assert (score.first_word, score.question_length) == (word, length)
        assert score.answer_length == 2

    def test_the_metric_of_the_model_says_the_same(self) -> None:
        answers: List[List[str]] = [["Ada Orn", "Orn"], ["the old mill"], ["1871", "in 1871"]]
        predictions = ["ada", "mill", "in 1871"]
        metric = SquadEmAndF1()
        metric(predictions, answers)
        questions = [make_question(str(n), *texts) for n, texts in enumerate(answers)]
        summary = summarize(
            score_questions(questions, {str(n): text for n, text in enumerate(predictions)})
        )
        assert metric.get_metric() == pytest.approx(
            {"em": summary["exact_match"], "f1": summary["f1"]}
        )

    @needs_real_data
    @pytest.mark.parametrize(
        "system, em, f1, num_missing",
        [
            ("r-net-plus-ensemble", 82.469, 88.478, 0),
            ("match-lstm-ans-ptr-boundary-ensemble", 67.635, 76.756, 0),
            ("logistic-regression-baseline", 40.142, 50.982, 13),
        ],
    )
    def test_published_predictions(
        self, system: str, em: float, f1: float, num_missing: int
    ) -> None:
        assert REAL_DATA is not None
        folder = REAL_DATA / "squad"
        scores = score_questions(
            questions_of(read_gold_paragraphs(folder / "dev-v1.1.json.gz")),
            read_predictions(folder / "predictions" / f"{system}.json.gz"),
        )
        assert summarize(scores) == {
            "exact_match": pytest.approx(em, abs=5e-4),
            "f1": pytest.approx(f1, abs=5e-4),
            "total": 10_570,
        }
        assert sum(score.prediction is None for score in scores) == num_missing

    @needs_real_data
    def test_real_questions_without_answer(self) -> None:
        assert REAL_DATA is not None
        questions = questions_of(
            read_gold_paragraphs(REAL_DATA / "squad" / "dev-v2.0-half.json.gz")
        )
        gold = {item.id: item.answers[0].text if item.answers else "" for item in questions}
        summary = summarize(score_questions(questions, gold))
        assert summary["total"] == 6_078
        assert summary["HasAns_total"] + summary["NoAns_total"] == 6_078
        assert all(value == 100 for name, value in summary.items() if "total" not in name)
        nothing = summarize(score_questions(questions, dict.fromkeys(gold, "")))
        assert (nothing["HasAns_exact"], nothing["NoAns_f1"]) == (0, 100)
        assert nothing["exact"] == nothing["f1"] == 100 * summary["NoAns_total"] / 6_078


def score_of(question: str, em: float = 1, answer: str = "x") -> QuestionScore:
    return QuestionScore("id", question, (answer,) if answer else (), "x", em, em)


class TestBreakDown:
    def test_by_first_word_the_most_frequent_first(self) -> None:
        questions = [f"w{number} it?" for number in range(12) for _ in range(20 - number)]
        scores = [score_of(text, em=float(text.startswith("w1 "))) for text in questions]
        groups = break_down(scores)["first word"]
        assert [group.label for group in groups] == [*(f"w{n}" for n in range(10)), "(other)"]
        assert [group.num_questions for group in groups] == [*range(20, 10, -1), 10 + 9]
        assert [group.em for group in groups] == [0, 100, *[0] * 9]

    def test_by_lengths(self) -> None:
        answers = ["", "a", "a b", "a b c", "a b c d", "a b c d e", "a " * 6, "a " * 11]
        scores = [score_of("who " * (3 + 3 * n), answer=text) for n, text in enumerate(answers)]
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


def make_score(id: str, has_answer: bool, prediction: str, em: float, f1: float) -> QuestionScore:
    return QuestionScore(id, "Who?", ("Ada Orn",) if has_answer else (), prediction, em, f1)


SCORES = [
    make_score("right", True, "Ada Orn", 1, 1),
    make_score("half", True, "Orn", 0, 2 / 3),
    make_score("none", False, "Ada", 0, 0),
    make_score("empty", False, "", 1, 1),
]
PROBABILITIES = {"right": 0.1, "half": 0.3, "none": 0.5, "empty": 0.9, "elsewhere": 0.0}


def random_scores(seed: int) -> List[QuestionScore]:
    generator = random.Random(seed)
    scores = []
    for number in range(20):
        if generator.random() < 0.5:
            em = float(generator.random() < 0.5)
            f1 = max(em, generator.random())
            scores.append(make_score(str(number), True, "Orn", em, f1))
        else:
            prediction = generator.choice(["", "Orn"])
            scores.append(make_score(str(number), False, prediction, *[float(not prediction)] * 2))
    return scores


class TestNoAnswer:
    def test_above_the_threshold_nothing_is_said(self) -> None:
        changed = apply_threshold(SCORES, PROBABILITIES, 0.3)
        assert [score.prediction for score in changed] == ["Ada Orn", "Orn", "", ""]
        assert [score.em for score in changed] == [1, 0, 1, 1]
        assert [score.f1 for score in changed] == [1, 2 / 3, 1, 1]
        assert apply_threshold(SCORES, PROBABILITIES, 1.0) == SCORES

    def test_the_best_thresholds(self) -> None:
        # Both questions without an answer, and the surest of the others.
        assert find_best_thresholds(SCORES, PROBABILITIES) == {
            "best_exact": 100 * (2 + 1) / 4,
            "best_exact_thresh": 0.1,
            "best_f1": pytest.approx(100 * (2 + 1 + 2 / 3) / 4),
            "best_f1_thresh": 0.3,
        }

    def test_to_say_nothing_may_be_best(self) -> None:
        wrong = make_score("wrong", True, "Jon", 0, 0)
        best = find_best_thresholds([wrong, SCORES[2]], {"wrong": 0.2, "none": 0.3})
        assert (best["best_exact"], best["best_exact_thresh"]) == (100 / 2, 0.0)

    def test_equal_probabilities_are_taken_in_the_order_of_the_file(self) -> None:
        # As the official script does, although no threshold separates the two.
        probabilities = {"right": 0.5, "none": 0.5}
        best = find_best_thresholds([SCORES[2], SCORES[0]], probabilities)
        assert (best["best_exact"], best["best_exact_thresh"]) == (100, 0.5)

    @pytest.mark.parametrize("seed", range(30))
    def test_no_threshold_is_better_than_the_best(self, seed: int) -> None:
        scores = random_scores(seed)
        generator = random.Random(seed)
        probabilities: Dict[str, float] = {score.id: generator.random() for score in scores}
        best = find_best_thresholds(scores, probabilities)
        for name in ("exact", "f1"):
            reached = {
                threshold: summarize(apply_threshold(scores, probabilities, threshold))[name]
                for threshold in [-1.0, *probabilities.values()]
            }
            assert best[f"best_{name}"] == pytest.approx(max(reached.values()))
            if best[f"best_{name}_thresh"]:
                assert reached[best[f"best_{name}_thresh"]] == pytest.approx(best[f"best_{name}"])

    def test_what_was_not_answered_stays_wrong(self) -> None:
        missing = QuestionScore("missing", "Who?", (), None, 0, 0)
        scores = [*SCORES, missing]
        assert apply_threshold(scores, PROBABILITIES, 0.0)[-1] == missing
        assert find_best_thresholds(scores, PROBABILITIES)["best_exact"] == 100 * (2 + 1) / 5

    def test_every_answer_needs_a_probability(self) -> None:
        for use in (
            lambda p: apply_threshold(SCORES, p, 0.5),
            lambda p: find_best_thresholds(SCORES, p),
        ):
            with pytest.raises(DataError, match="no no-answer probability for the question 'half'"):
                use({"right": 0.1})

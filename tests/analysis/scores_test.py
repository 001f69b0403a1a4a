from typing import List

import pytest

from bidaf_plugin.analysis.prediction_files import read_predictions
from bidaf_plugin.analysis.scores import score_questions, summarize
from bidaf_plugin.analysis.squad_files import read_gold_questions
from bidaf_plugin.data.dataset_readers.squad_json import Answer, Question
from bidaf_plugin.training.metrics import SquadEmAndF1
from tests.helpers import REAL_DATA, needs_real_data


def make_question(id: str, *answers: str, text: str = "Who was it?") -> Question:
    return Question(id, text, [Answer(answer, 0) for answer in answers], not answers)


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
            read_gold_questions(folder / "dev-v1.1.json.gz"),
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
        questions = read_gold_questions(REAL_DATA / "squad" / "dev-v2.0-half.json.gz")
        gold = {item.id: item.answers[0].text if item.answers else "" for item in questions}
        summary = summarize(score_questions(questions, gold))
        assert summary["total"] == 6_078
        assert summary["HasAns_total"] + summary["NoAns_total"] == 6_078
        assert all(value == 100 for name, value in summary.items() if "total" not in name)
        nothing = summarize(score_questions(questions, dict.fromkeys(gold, "")))
        assert (nothing["HasAns_exact"], nothing["NoAns_f1"]) == (0, 100)
        assert nothing["exact"] == nothing["f1"] == 100 * summary["NoAns_total"] / 6_078

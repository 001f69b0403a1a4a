from typing import List

import pytest

from bidaf_plugin.training.metrics import Squad2EmAndF1
from bidaf_plugin.training.metrics.squad2_em_and_f1 import squad2_scores


class TestSquad2EmAndF1:
    @pytest.mark.parametrize(
        "prediction, answers, em, f1",
        [
            ("", [], 1, 1),
            ("Ada", [], 0, 0),
            ("the", [], 1, 1),  # which is nothing after normalisation
            ("", ["Ada"], 0, 0),
            ("the Ada", ["Ada"], 1, 1),
            ("Ada Orn", ["Bob", "Ada"], 0, 2 / 3),
            ("", ["the"], 1, 1),  # an answer that is nothing does not count as one
        ],
    )
    def test_scores_of_a_question(
        self, prediction: str, answers: List[str], em: float, f1: float
    ) -> None:
        assert squad2_scores(prediction, answers) == (em, pytest.approx(f1))

    def test_averages_over_all_and_over_both_kinds_of_questions(self) -> None:
        metric = Squad2EmAndF1()
        metric(["", "Ada Orn"], [[], ["Ada"]])
        metric(["x", "Ada"], [[], ["Ada"]])
        assert metric.get_metric() == {
            "em": 100 * 2 / 4,
            "f1": pytest.approx(100 * (1 + 2 / 3 + 0 + 1) / 4),
            "has_answer_em": 100 * 1 / 2,
            "has_answer_f1": pytest.approx(100 * (2 / 3 + 1) / 2),
            "no_answer_em": 100 * 1 / 2,
        }
        metric.get_metric(reset=True)
        assert metric.get_metric() == {}
        metric(["Ada"], [["Ada"]])
        assert "no_answer_em" not in metric.get_metric()

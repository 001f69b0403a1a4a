import random
from typing import Dict, List

import pytest

from bidaf_plugin.analysis.no_answer import apply_threshold, find_best_thresholds
from bidaf_plugin.analysis.scores import QuestionScore, summarize
from bidaf_plugin.common.errors import DataError


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

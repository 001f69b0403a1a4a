from typing import Dict, List, Sequence, Tuple

from allennlp.training.metrics import Metric
from overrides import overrides

from bidaf_plugin.training.metrics.mean_over_workers import MeanOverWorkers
from bidaf_plugin.training.metrics.squad_em_and_f1 import (
    best_over_answers,
    exact_match,
    f1_score,
    normalize_answer,
)


def squad2_scores(prediction: str, answers: Sequence[str]) -> Tuple[float, float]:
    """
    Exact match and F1 of the official SQuAD 2.0 script for one question. No answer is the empty text:
    it is right, and the only right one, where there are no gold answers.
    """
    # Gold answers of which the normalisation leaves nothing do not count.
    answers = [answer for answer in answers if normalize_answer(answer)]
    if not answers:
        is_right = exact_match(prediction, "")
        return is_right, is_right
    return (
        best_over_answers(exact_match, prediction, answers),
        best_over_answers(f1_score, prediction, answers),
    )


@Metric.register("squad2_em_and_f1")
class Squad2EmAndF1(Metric):
    """
    Exact match and F1 of the official SQuAD 2.0 script, in percent: `em` and `f1` over all questions,
    `has_answer_em` and `has_answer_f1` over those that can be answered, `no_answer_em` over the others
    (whose F1 is the same).

    Registered as a `Metric` with name "squad2_em_and_f1".
    """

    def __init__(self) -> None:
        self._all = MeanOverWorkers(["em", "f1"])
        self._has_answer = MeanOverWorkers(["has_answer_em", "has_answer_f1"])
        self._no_answer = MeanOverWorkers(["no_answer_em"])

    @overrides(check_signature=False)
    def __call__(  # type: ignore[override]
        self, predictions: Sequence[str], answers: Sequence[List[str]]
    ) -> None:
        """
        # Parameters

        predictions : `Sequence[str]`
            One answer text per question of the batch, empty for no answer.
        answers : `Sequence[List[str]]`
            The gold answers of each question; none if it cannot be answered.
        """
        for prediction, gold in zip(predictions, answers, strict=True):
            em, f1 = squad2_scores(prediction, gold)
            self._all.add([em, f1], 1)
            if gold:
                self._has_answer.add([em, f1], 1)
            else:
                self._no_answer.add([em], 1)

    @overrides
    def get_metric(self, reset: bool = False) -> Dict[str, float]:
        return {
            name: value
            for metric in (self._all, self._has_answer, self._no_answer)
            for name, value in metric.get_metric(reset).items()
        }

    @overrides
    def reset(self) -> None:
        for metric in (self._all, self._has_answer, self._no_answer):
            metric.reset()

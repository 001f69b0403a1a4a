"""
No-answer probabilities and thresholds, as the official script of SQuAD 2.0 defines them.
"""

from dataclasses import replace
from typing import Callable, Dict, List, Mapping, Sequence, Tuple

from bidaf_plugin.analysis.scores import QuestionScore
from bidaf_plugin.common.errors import DataError


def apply_threshold(
    scores: Sequence[QuestionScore], probabilities: Mapping[str, float], threshold: float
) -> List[QuestionScore]:
    """
    The scores when every question whose no-answer probability is above the threshold is answered
    with the empty string.
    """
    return [
        (
            replace(
                score, prediction="", em=float(not score.has_answer), f1=float(not score.has_answer)
            )
            if score.prediction is not None and _get(probabilities, score) > threshold
            else score
        )
        for score in scores
    ]


def find_best_thresholds(
    scores: Sequence[QuestionScore], probabilities: Mapping[str, float]
) -> Dict[str, float]:
    """
    The largest scores, in percent, that a threshold can bring, and these thresholds: `best_exact`,
    `best_exact_thresh`, `best_f1`, `best_f1_thresh`.
    """
    best_em, em_threshold = _find_best(scores, probabilities, lambda score: score.em)
    best_f1, f1_threshold = _find_best(scores, probabilities, lambda score: score.f1)
    return {
        "best_exact": best_em,
        "best_exact_thresh": em_threshold,
        "best_f1": best_f1,
        "best_f1_thresh": f1_threshold,
    }


def _find_best(
    scores: Sequence[QuestionScore],
    probabilities: Mapping[str, float],
    measure: Callable[[QuestionScore], float],
) -> Tuple[float, float]:
    answered = [score for score in scores if score.prediction is not None]
    score_by_id = {score.id: score for score in answered}
    for score in answered:
        _get(probabilities, score)
    # With no threshold at all nothing is answered, and all questions without an answer are right.
    # Then the questions get their answers one by one, the surest first. Among equal probabilities the
    # file's order decides, and the best place may lie between them: the official script has it so.
    current = best = float(sum(not score.has_answer for score in answered))
    best_threshold = 0.0
    for id in sorted(probabilities, key=lambda id: probabilities[id]):
        if id not in score_by_id:
            continue
        score = score_by_id[id]
        if score.has_answer:
            current += measure(score)
        elif score.prediction:
            current -= 1
        if current > best:
            best, best_threshold = current, probabilities[id]
    return 100.0 * best / len(scores), best_threshold


def _get(probabilities: Mapping[str, float], score: QuestionScore) -> float:
    if score.id not in probabilities:
        raise DataError(f"there is no no-answer probability for the question {score.id!r}")
    return probabilities[score.id]

"""
The official scores of SQuAD 1.1 and 2.0: question by question, in all, of groups of questions, and at
thresholds of no-answer probabilities.

Data is of version 2.0 if some of its questions have no gold answer: there the empty string is the
right answer. (With an answer to every question, both versions give the same numbers.)
"""

import string
from collections import Counter
from dataclasses import dataclass, replace
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.squad_json import Question
from bidaf_plugin.training.metrics import (
    best_over_answers,
    exact_match,
    f1_score,
    squad2_scores,
)

NUM_FIRST_WORDS = 10
# The largest number of words in each group; one more group has all that is longer.
_ANSWER_LENGTHS = (1, 2, 3, 5, 10)
_QUESTION_LENGTHS = (6, 9, 12, 15, 20)


@dataclass(frozen=True)
class QuestionScore:
    """A question, what was answered, and how good that is."""

    id: str
    question: str
    # The distinct gold answers; none if the right answer is that there is none.
    answers: Tuple[str, ...]
    # None if the question was not answered at all, which is always wrong.
    prediction: Optional[str]
    # From 0 to 1.
    em: float
    f1: float

    @property
    def has_answer(self) -> bool:
        return bool(self.answers)

    @property
    def first_word(self) -> str:
        """The question's first word, in lower case, without punctuation around it."""
        words = (word.strip(string.punctuation).lower() for word in self.question.split())
        return next(filter(None, words), "")

    @property
    def question_length(self) -> int:
        """In words, as blanks separate them."""
        return len(self.question.split())

    @property
    def answer_length(self) -> int:
        """The words of the shortest gold answer, 0 if there is none."""
        return min((len(answer.split()) for answer in self.answers), default=0)


def score_questions(
    questions: Sequence[Question], predictions: Mapping[str, str]
) -> List[QuestionScore]:
    """
    The scores of all `questions`, in their order, whose gold answers are known. `predictions` are by question
    id; those to other questions are ignored.
    """
    is_version_2 = not all(question.answers for question in questions)
    return [_score(question, predictions.get(question.id), is_version_2) for question in questions]


def _score(question: Question, prediction: Optional[str], is_version_2: bool) -> QuestionScore:
    # Annotators often agree; each text is compared once.
    answers = tuple(dict.fromkeys(answer.text for answer in question.answers))
    em = f1 = 0.0
    if prediction is not None and is_version_2:
        em, f1 = squad2_scores(prediction, answers)
    elif prediction is not None:
        em = best_over_answers(exact_match, prediction, answers)
        f1 = best_over_answers(f1_score, prediction, answers)
    return QuestionScore(question.id, question.text, answers, prediction, em, f1)


def summarize(scores: Sequence[QuestionScore]) -> Dict[str, float]:
    """
    The scores over all questions, in percent, under the names of the official scripts: `exact_match`
    and `f1` for version 1.1; `exact` and `f1`, and the same over questions with (`HasAns_`) and
    without an answer (`NoAns_`), for version 2.0. `total` is the number of questions.
    """
    with_answer = [score for score in scores if score.has_answer]
    without_answer = [score for score in scores if not score.has_answer]
    if not without_answer:
        return {"exact_match": mean_em(scores), "f1": mean_f1(scores), "total": len(scores)}
    summary: Dict[str, float] = {}
    for prefix, group in (("", scores), ("HasAns_", with_answer), ("NoAns_", without_answer)):
        if group:
            summary[prefix + "exact"] = mean_em(group)
            summary[prefix + "f1"] = mean_f1(group)
            summary[prefix + "total"] = len(group)
    return summary


def mean_em(scores: Sequence[QuestionScore]) -> float:
    """Exact match in percent."""
    return 100.0 * sum(score.em for score in scores) / len(scores)


def mean_f1(scores: Sequence[QuestionScore]) -> float:
    """F1 in percent."""
    return 100.0 * sum(score.f1 for score in scores) / len(scores)


class Group(NamedTuple):
    """Some of the questions, how many they are, and their scores in percent."""

    label: str
    num_questions: int
    em: float
    f1: float


def break_down(scores: Sequence[QuestionScore]) -> Dict[str, List[Group]]:
    """
    The scores of groups of questions, by aspect: "first word", as in the paper's Figure 2c, "answer length"
    and "question length".
    """
    words = Counter(score.first_word for score in scores)
    frequent = [word for word, _ in words.most_common(NUM_FIRST_WORDS)]
    answer_labels = _length_labels(_ANSWER_LENGTHS)
    question_labels = _length_labels(_QUESTION_LENGTHS)

    def first_word(score: QuestionScore) -> str:
        return score.first_word if score.first_word in frequent else "(other)"

    def answer_length(score: QuestionScore) -> str:
        if not score.has_answer:
            return "no answer"
        return answer_labels[sum(score.answer_length > limit for limit in _ANSWER_LENGTHS)]

    def question_length(score: QuestionScore) -> str:
        return question_labels[sum(score.question_length > limit for limit in _QUESTION_LENGTHS)]

    return {
        "first word": _group(scores, [*frequent, "(other)"], first_word),
        "answer length": _group(scores, ["no answer", *answer_labels], answer_length),
        "question length": _group(scores, question_labels, question_length),
    }


def _group(
    scores: Sequence[QuestionScore], labels: Sequence[str], label_of: Callable[[QuestionScore], str]
) -> List[Group]:
    members: Dict[str, List[QuestionScore]] = {label: [] for label in labels}
    for score in scores:
        members[label_of(score)].append(score)
    return [
        Group(label, len(group), mean_em(group), mean_f1(group))
        for label, group in members.items()
        if group
    ]


def _length_labels(limits: Sequence[int]) -> List[str]:
    firsts = [1, *(limit + 1 for limit in limits)]
    labels = [
        str(first) if first == last else f"{first}-{last}"
        for first, last in zip(firsts, limits, strict=False)
    ]
    return [*labels, f"{firsts[-1]} and more"]


def apply_threshold(
    scores: Sequence[QuestionScore], probabilities: Mapping[str, float], threshold: float
) -> List[QuestionScore]:
    """
    The scores when every question whose no-answer probability is above the threshold is answered
    with the empty string.
    """
    changed = []
    for score in scores:
        if score.prediction is not None and _probability(probabilities, score) > threshold:
            value = float(not score.has_answer)
            score = replace(score, prediction="", em=value, f1=value)
        changed.append(score)
    return changed


def find_best_thresholds(
    scores: Sequence[QuestionScore], probabilities: Mapping[str, float]
) -> Dict[str, float]:
    """
    The largest scores, in percent, that a threshold can bring, and these thresholds: `best_exact`,
    `best_exact_thresh`, `best_f1`, `best_f1_thresh`.
    """
    best: Dict[str, float] = {}
    for name, key in (("em", "exact"), ("f1", "f1")):
        best[f"best_{key}"], best[f"best_{key}_thresh"] = _find_best(scores, probabilities, name)
    return best


def _find_best(
    scores: Sequence[QuestionScore], probabilities: Mapping[str, float], name: str
) -> Tuple[float, float]:
    answered = [score for score in scores if score.prediction is not None]
    score_by_id = {score.id: score for score in answered}
    for score in answered:
        _probability(probabilities, score)
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
            current += getattr(score, name)
        elif score.prediction:
            current -= 1
        if current > best:
            best, best_threshold = current, probabilities[id]
    return 100.0 * best / len(scores), best_threshold


def _probability(probabilities: Mapping[str, float], score: QuestionScore) -> float:
    if score.id not in probabilities:
        raise DataError(f"there is no no-answer probability for the question {score.id!r}")
    return probabilities[score.id]

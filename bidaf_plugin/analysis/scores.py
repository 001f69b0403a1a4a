"""
The official scores of SQuAD 1.1 and 2.0, question by question and in all.

Data is of version 2.0 if some of its questions have no gold answer: there the empty string is the
right answer. (With an answer to every question, both versions give the same numbers.)
"""

import string
from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from bidaf_plugin.data.dataset_readers.squad_json import Question
from bidaf_plugin.training.metrics.squad2_em_and_f1 import squad2_scores
from bidaf_plugin.training.metrics.squad_em_and_f1 import best_over_answers, exact_match, f1_score


@dataclass(frozen=True)
class QuestionScore:
    """
    A question, what was answered, and how good that is.

    # Parameters

    id : `str`
    question : `str`
    answers : `Tuple[str, ...]`
        The distinct gold answers; none if the right answer is that there is none.
    prediction : `Optional[str]`
        None if the question was not answered at all, which is always wrong.
    em, f1 : `float`
        From 0 to 1.
    """

    id: str
    question: str
    answers: Tuple[str, ...]
    prediction: Optional[str]
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
    The scores of all `questions`, in their order.

    # Parameters

    questions : `Sequence[Question]`
        From `read_gold_questions`.
    predictions : `Mapping[str, str]`
        Answers by question id, from `read_predictions`. Those to other questions are ignored.
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

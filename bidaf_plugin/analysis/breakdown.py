"""
Scores of groups of questions: by first word, as in the paper's Figure 2c, by length of the answer and
by length of the question.
"""

from collections import Counter
from typing import Callable, Dict, List, NamedTuple, Sequence

from bidaf_plugin.analysis.scores import QuestionScore, mean_em, mean_f1

NUM_FIRST_WORDS = 10
# The largest number of words in each group; one more group has all that is longer.
ANSWER_LENGTHS = (1, 2, 3, 5, 10)
QUESTION_LENGTHS = (6, 9, 12, 15, 20)


class Group(NamedTuple):
    """Some of the questions, how many they are, and their scores in percent."""

    label: str
    num_questions: int
    em: float
    f1: float


def break_down(scores: Sequence[QuestionScore]) -> Dict[str, List[Group]]:
    """The groups by aspect: "first word", "answer length" and "question length"."""
    words = Counter(score.first_word for score in scores)
    frequent = [word for word, _ in words.most_common(NUM_FIRST_WORDS)]
    answer_lengths = ["no answer", *_labels(ANSWER_LENGTHS)]
    question_lengths = _labels(QUESTION_LENGTHS)
    return {
        "first word": _group(
            scores,
            [*frequent, "(other)"],
            lambda score: score.first_word if score.first_word in frequent else "(other)",
        ),
        "answer length": _group(
            scores,
            answer_lengths,
            lambda score: answer_lengths[
                1 + _bin(score.answer_length, ANSWER_LENGTHS) if score.has_answer else 0
            ],
        ),
        "question length": _group(
            scores,
            question_lengths,
            lambda score: question_lengths[_bin(score.question_length, QUESTION_LENGTHS)],
        ),
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


def _bin(length: int, limits: Sequence[int]) -> int:
    return sum(length > limit for limit in limits)


def _labels(limits: Sequence[int]) -> List[str]:
    firsts = [1, *(limit + 1 for limit in limits)]
    labels = [
        str(first) if first == last else f"{first}-{last}"
        for first, last in zip(firsts, limits, strict=False)
    ]
    return [*labels, f"{firsts[-1]} and more"]

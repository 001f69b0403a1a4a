"""
Answers that are no exact match, with what people need to see why.
"""

import random
import re
from dataclasses import dataclass
from itertools import groupby
from typing import List, Mapping, NamedTuple, Sequence, Tuple

from bidaf_plugin.analysis.scores import QuestionScore, score_questions
from bidaf_plugin.data.dataset_readers.squad_json import Paragraph, Question

Span = Tuple[int, int]

# By whether a stretch of a passage is in a gold answer, and whether it is in the prediction.
_KINDS = {(False, False): "", (True, False): "right", (False, True): "wrong", (True, True): "both"}


class MarkedText(NamedTuple):
    """A stretch of a passage: in a gold answer ("right"), the prediction ("wrong"), "both", or ""."""

    text: str
    kind: str


@dataclass(frozen=True)
class AnsweredQuestion(QuestionScore):
    """A question that has a prediction, with its passage."""

    # Its stretches, in order.
    passage: List[MarkedText]
    # Whether the prediction overlaps with a gold answer in the passage. A prediction file does not say where an
    # answer was found, so any place in the passage where it stands will do; if there is none, words in common
    # will.
    has_overlap: bool

    @property
    def passage_text(self) -> str:
        return "".join(text for text, _ in self.passage)


def answered_questions(
    paragraphs: Sequence[Paragraph], predictions: Mapping[str, str]
) -> List[AnsweredQuestion]:
    """All questions that have a prediction, in the order of the data."""
    pairs = [(paragraph, question) for paragraph in paragraphs for question in paragraph.questions]
    scores = score_questions([question for _, question in pairs], predictions)
    return [
        _mark(paragraph.passage, question, score)
        for (paragraph, question), score in zip(pairs, scores, strict=True)
        if score.prediction is not None
    ]


def draw_sample(
    questions: Sequence[AnsweredQuestion], size: int, seed: int
) -> List[AnsweredQuestion]:
    """So many questions drawn at random, or all if there are not as many; in the order of the data."""
    indices = random.Random(seed).sample(range(len(questions)), min(size, len(questions)))
    return [questions[index] for index in sorted(indices)]


def _mark(passage: str, question: Question, score: QuestionScore) -> AnsweredQuestion:
    gold = [(answer.start, answer.end) for answer in question.answers]
    predicted = find_text(score.prediction or "", passage)
    overlapping = [span for span in predicted if any(_overlap(span, other) for other in gold)]
    return AnsweredQuestion(
        **vars(score),
        # Of several places where it stands, those at a gold answer are the likely ones.
        passage=mark_passage(passage, gold, overlapping or predicted),
        has_overlap=bool(overlapping) or (not predicted and score.f1 > 0),
    )


def find_text(text: str, passage: str) -> List[Span]:
    """Where a text stands in a passage; systems that join tokens differ from it in blanks."""
    words = text.split()
    # Not within a number or a word: "7" is not in "1871".
    pattern = r"(?<!\w)" if words and words[0][0].isalnum() else ""
    pattern += r"\s*".join(map(re.escape, words))
    pattern += r"(?!\w)" if words and words[-1][-1].isalnum() else ""
    return [match.span() for match in re.finditer(pattern, passage)] if words else []


def mark_passage(passage: str, gold: Sequence[Span], predicted: Sequence[Span]) -> List[MarkedText]:
    """The passage in as few stretches as can be, none of which is partly in an answer."""
    cuts = sorted({0, len(passage), *(cut for span in [*gold, *predicted] for cut in span)})
    kinds = [
        _KINDS[
            any(_overlap(stretch, span) for span in gold),
            any(_overlap(stretch, span) for span in predicted),
        ]
        for stretch in zip(cuts, cuts[1:], strict=False)
    ]
    stretches = []
    for kind, group in groupby(range(len(kinds)), key=lambda index: kinds[index]):
        indices = list(group)
        stretches.append(MarkedText(passage[cuts[indices[0]] : cuts[indices[-1] + 1]], kind))
    return stretches


def _overlap(first: Span, second: Span) -> bool:
    return first[0] < second[1] and second[0] < first[1]

"""
Metrics, all of them means over examples: the official scores of SQuAD, and accuracies.
"""

import re
import string
from collections import Counter
from functools import lru_cache
from typing import Callable, Dict, List, Sequence, Tuple

import torch
import torch.distributed
from allennlp.common.util import is_distributed
from allennlp.training.metrics import Metric
from overrides import overrides

from bidaf_plugin.nn.entities import UNKNOWN_ANSWER

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


class MeanOverWorkers(Metric):
    """
    Base of metrics that are means over examples, in percent, and right in distributed training.

    Each worker keeps its own sums. They are added over the workers in one exchange, when the metric
    is reset at the end of an epoch, which every worker does exactly once. Before that the metric is
    the worker's own, for its progress bar. (A metric that exchanges sums whenever it is called hangs
    as soon as one worker has a batch more than another.)

    # Parameters

    names : `Sequence[str]`
        The keys of what `get_metric` returns; it returns nothing where there was nothing to score.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._sums = [0.0] * len(self._names)
        self._count = 0

    def add(self, sums: Sequence[float], count: int) -> None:
        """Adds a batch: the sum of each quantity over its `count` examples."""
        self._sums = [old + float(new) for old, new in zip(self._sums, sums, strict=True)]
        self._count += count

    @overrides
    def get_metric(self, reset: bool = False) -> Dict[str, float]:
        totals = torch.tensor([*self._sums, self._count], dtype=torch.float64)
        if reset and is_distributed():
            if torch.distributed.get_backend() == "nccl":
                totals = totals.to(torch.device("cuda", torch.cuda.current_device()))
            torch.distributed.all_reduce(totals)
        *sums, count = totals.tolist()
        if reset:
            self.reset()
        if not count:
            return {}
        return {name: 100.0 * total / count for name, total in zip(self._names, sums, strict=True)}

    @overrides
    def reset(self) -> None:
        self._sums = [0.0] * len(self._names)
        self._count = 0


@Metric.register("span_accuracy")
class SpanAccuracy(MeanOverWorkers):
    """
    How often the first token, the last token, and both, of the predicted span are those of a gold
    span, in percent.

    Registered as a `Metric` with name "span_accuracy".
    """

    def __init__(self) -> None:
        super().__init__(["start_accuracy", "end_accuracy", "span_accuracy"])

    @overrides(check_signature=False)
    def __call__(  # type: ignore[override]
        self, best_spans: torch.Tensor, answer_spans: torch.Tensor
    ) -> None:
        """
        # Parameters

        best_spans : `torch.LongTensor`
            Shape `(batch_size, 2)`.
        answer_spans : `torch.LongTensor`
            Shape `(batch_size, num_answers, 2)`, padded with -1.
        """
        # Shape: (batch_size, num_answers, 2)
        is_right = best_spans.unsqueeze(1) == answer_spans
        # Shape: (batch_size,) for both
        start_is_right, end_is_right = is_right.any(dim=1).unbind(dim=-1)
        # Shape: (batch_size,)
        both_are_right = is_right.all(dim=-1).any(dim=1)
        self.add(
            [start_is_right.sum().item(), end_is_right.sum().item(), both_are_right.sum().item()],
            best_spans.size(0),
        )


@Metric.register("cloze_accuracy")
class ClozeAccuracy(MeanOverWorkers):
    """
    How many cloze questions are answered with the right entity, in percent of all questions that
    have an answer: one whose answer is not in the article counts as answered wrongly.

    Registered as a `Metric` with name "cloze_accuracy".
    """

    def __init__(self) -> None:
        super().__init__(["accuracy"])

    @overrides(check_signature=False)
    def __call__(  # type: ignore[override]
        self, best_entities: torch.Tensor, answer_entities: torch.Tensor
    ) -> None:
        """
        # Parameters

        best_entities : `torch.LongTensor`
            Shape `(batch_size,)`: the predicted candidate, or -1 if there was none to choose from.
        answer_entities : `torch.LongTensor`
            Shape `(batch_size,)`: the right candidate, `NOT_IN_ARTICLE` if it is no candidate, or
            `UNKNOWN_ANSWER`, in which case the question is not counted.
        """
        # Shape: (batch_size,)
        is_right = (best_entities == answer_entities) & (answer_entities >= 0)
        self.add([is_right.sum().item()], int((answer_entities != UNKNOWN_ANSWER).sum()))


# A prediction is compared with several gold answers, of which several are often the same.
@lru_cache(maxsize=1024)
def normalize_answer(text: str) -> str:
    """
    What the official SQuAD v1.1 script compares: lower case, no ASCII punctuation, no articles,
    single blanks.
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION)).split())


def exact_match(prediction: str, gold: str) -> float:
    """1 if the normalised answers are equal, else 0."""
    return float(normalize_answer(prediction) == normalize_answer(gold))


def f1_score(prediction: str, gold: str) -> float:
    """The harmonic mean of precision and recall over the words of the normalised answers."""
    predicted_words = normalize_answer(prediction).split()
    gold_words = normalize_answer(gold).split()
    num_same = sum((Counter(predicted_words) & Counter(gold_words)).values())
    if num_same == 0:
        return 0.0
    precision = num_same / len(predicted_words)
    recall = num_same / len(gold_words)
    return 2 * precision * recall / (precision + recall)


# In the order in which they are told.
SCORES = (exact_match, f1_score)


def best_over_answers(
    score: Callable[[str, str], float], prediction: str, answers: Sequence[str]
) -> float:
    """The score against the gold answer that suits the prediction best."""
    return max((score(prediction, answer) for answer in set(answers)), default=0.0)


@Metric.register("squad_em_and_f1")
class SquadEmAndF1(MeanOverWorkers):
    """
    Exact match and F1 of the official SQuAD v1.1 script, in percent: for each question the best over
    its gold answers, averaged over the questions.

    Registered as a `Metric` with name "squad_em_and_f1".
    """

    def __init__(self) -> None:
        super().__init__(["em", "f1"])

    @overrides(check_signature=False)
    def __call__(  # type: ignore[override]
        self, predictions: Sequence[str], answers: Sequence[List[str]]
    ) -> None:
        """One answer text per question of the batch, and the gold answers of each."""
        pairs = list(zip(predictions, answers, strict=True))
        sums = [sum(best_over_answers(score, *pair) for pair in pairs) for score in SCORES]
        self.add(sums, len(pairs))


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
    em, f1 = (best_over_answers(score, prediction, answers) for score in SCORES)
    return em, f1


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
        One answer text per question of the batch, empty for no answer, and the gold answers of each, none if
        it cannot be answered.
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

import re
import string
from collections import Counter
from functools import lru_cache
from typing import Callable, List, Sequence

from allennlp.training.metrics import Metric
from overrides import overrides

from bidaf_plugin.training.metrics.mean_over_workers import MeanOverWorkers

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


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


def best_over_answers(
    score: Callable[[str, str], float], prediction: str, answers: Sequence[str]
) -> float:
    """The score against the gold answer that suits the prediction best."""
    return max((score(prediction, answer) for answer in answers), default=0.0)


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
        """
        # Parameters

        predictions : `Sequence[str]`
            One answer text per question of the batch.
        answers : `Sequence[List[str]]`
            The gold answers of each question.
        """
        pairs = list(zip(predictions, answers, strict=True))
        self.add(
            [sum(best_over_answers(score, *pair) for pair in pairs) for score in _SCORES],
            len(pairs),
        )


_SCORES = (exact_match, f1_score)

"""
Files with the most probable spans for each question of a SQuAD file, `{question id: [{"characters": [first, one
past the last], "probability": p}, ...]}`, the answer of the model first, "characters" null for no answer. Together
with the data they are enough to score a model and to let several answer together, without the models. What
`allennlp bidaf answer --n-best` writes is read as well.
"""

from itertools import islice
from os import PathLike
from typing import Any, Dict, Iterable, List, Mapping, Sequence, Union

from allennlp.common.tqdm import Tqdm

from bidaf_plugin.analysis.prediction_files import read_object, write_json
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.squad_json import Paragraph
from bidaf_plugin.modules.ensemble_rules import (
    Candidate,
    EnsembleRule,
    SpanDistribution,
    SpansRule,
)
from bidaf_plugin.predictors.span_distributions import find_distributions
from bidaf_plugin.predictors.span_predictor import SpanPredictor

Path = Union[str, PathLike]

# So many spans of each question are kept.
NUM_SPANS = 10
_FORM = "{question id: [{'characters': [first, one past the last], 'probability': p}, ...]}"


def is_nbest_file(path: Path) -> bool:
    """By its name: predictions.nbest.json, plain or gzipped."""
    return str(path).removesuffix(".gz").endswith(".nbest.json")


def best_spans(
    distribution: SpanDistribution, passage: str, number: int = NUM_SPANS
) -> List[Candidate]:
    """The answer of a model, and what else is probable, the most probable first."""
    rule = SpansRule()
    answer = Candidate(distribution.best_span, distribution.confidence)
    others = list(islice(rule.candidates([distribution], passage), number))
    if distribution.no_answer_log_probs is not None:
        others.append(Candidate(None, rule.no_answer_probability([distribution])))
    others = [candidate for candidate in others if candidate.span != answer.span]
    others.sort(key=lambda candidate: -candidate.confidence)
    return [answer, *others][:number]


def find_best_spans(
    predictor: SpanPredictor, paragraphs: Iterable[Paragraph]
) -> Dict[str, List[Candidate]]:
    """The most probable spans for all questions, by their ids, with progress."""
    questions = [
        {"id": question.id, "question": question.text, "passage": paragraph.passage}
        for paragraph in paragraphs
        for question in paragraph.questions
    ]
    with Tqdm.tqdm(total=len(questions), unit=" questions", mininterval=0.5) as progress:
        distributions = find_distributions(predictor, questions, progress.update)
    return {
        question["id"]: best_spans(distribution, question["passage"])
        for question, distribution in zip(questions, distributions, strict=True)
    }


def write_nbest(path: Path, spans: Mapping[str, Sequence[Candidate]]) -> None:
    """Writes such a file, which is either whole or not there."""
    write_json(
        path,
        {
            id: [
                # More digits would be most of the file.
                {"characters": span and list(span), "probability": float(f"{probability:.4g}")}
                for span, probability in candidates
            ]
            for id, candidates in spans.items()
        },
    )


def read_nbest(path: Path) -> Dict[str, List[Candidate]]:
    """
    # Raises

    `DataError`, which names the file and the question.
    """
    return {
        id: [_candidate(item, f"{path}, {id!r}") for item in _items(items, f"{path}, {id!r}")]
        for id, items in read_object(path, _FORM).items()
    }


def _items(items: Any, place: str) -> List[Any]:
    if not isinstance(items, list) or not items:
        raise DataError(f"{place}: there must be a list of answers, found {items!r:.60}")
    return items


def _candidate(item: Any, place: str) -> Candidate:
    item = item if isinstance(item, dict) else {}
    span, probability = item.get("characters", ()), item.get("probability")
    is_number = isinstance(probability, (int, float)) and not isinstance(probability, bool)
    # What is rounded, or the sum of many, may be a little more than 1.
    if not is_number or not 0 <= probability <= 1.001:
        raise DataError(f"{place}: 'probability' must be a number from 0 to 1")
    if span is None:
        return Candidate(None, probability)
    is_span = isinstance(span, list) and len(span) == 2 and all(type(end) is int for end in span)
    if not is_span or not 0 <= span[0] < span[1]:
        raise DataError(f"{place}: 'characters' must be two rising numbers, or null")
    return Candidate((span[0], span[1]), probability)


def passages_of(paragraphs: Sequence[Paragraph]) -> Dict[str, str]:
    """The passage of each question, by its id."""
    return {q.id: paragraph.passage for paragraph in paragraphs for q in paragraph.questions}


def answers_of(
    path: Path, spans: Mapping[str, Sequence[Candidate]], passages: Mapping[str, str]
) -> Dict[str, str]:
    """The texts of the first answers, to those questions that are in the data."""
    answers = {}
    for id, candidates in spans.items():
        if id not in passages:
            continue
        span = candidates[0].span
        if span is not None and span[1] > len(passages[id]):
            raise DataError(
                f"{path}, {id!r}: the answer ends at character {span[1]} of a passage of "
                f"{len(passages[id])}; is it about other data?"
            )
        answers[id] = candidates[0].text(passages[id])
    return answers


class NbestEnsemble:
    """
    Several models answer together, of which only the most probable spans are known.

    - `votes` is what it is with the models themselves.
    - `spans` is so as long as the best span is among those of each model. What a model gives to others counts
      as 0; `probability_known` says how much that is.

    # Parameters

    members : `Sequence[Mapping[str, Sequence[Candidate]]]`
        From `read_nbest`.
    """

    RULES = ("votes", "spans")

    def __init__(self, members: Sequence[Mapping[str, Sequence[Candidate]]]) -> None:
        self._members = members

    def answer(self, rule: str, id: str, passage: str) -> str:
        """The answer to a question, empty for none."""
        of_members = [member[id] for member in self._members if id in member]
        if not of_members:
            return ""
        return (_vote if rule == "votes" else _add_up)(of_members, passage).text(passage)

    def probability_known(self) -> float:
        """The share of all probability that the spans of the members have, on average."""
        sums = [
            min(sum(candidate.confidence for candidate in candidates), 1.0)
            for member in self._members
            for candidates in member.values()
        ]
        return sum(sums) / max(len(sums), 1)


def _vote(of_members: Sequence[Sequence[Candidate]], passage: str) -> Candidate:
    empty: Any = ()
    rule = EnsembleRule.by_name("votes")()
    distributions = [
        SpanDistribution(empty, empty, empty, empty, answer.span, answer.confidence)
        for answer, *_ in of_members
    ]
    if all(distribution.best_span is None for distribution in distributions):
        return of_members[0][0]
    return rule.best(distributions, passage)


def _add_up(of_members: Sequence[Sequence[Candidate]], passage: str) -> Candidate:
    sums: Dict[Any, float] = {}
    for candidates in of_members:
        for span, probability in candidates:
            sums[span] = sums.get(span, 0.0) + probability / len(of_members)
    span = max(sums, key=lambda span: sums[span])
    return Candidate(span, sums[span])

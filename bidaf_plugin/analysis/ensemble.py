"""
Several models answer the questions of a file: each alone, and all of them together.
"""

from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence

from allennlp.common.tqdm import Tqdm
from allennlp.common.util import JsonDict, lazy_groups_of

from bidaf_plugin.analysis.scores import mean_em, mean_f1, score_questions
from bidaf_plugin.analysis.squad_files import has_gold_answers, questions_of, records_of
from bidaf_plugin.analysis.tables import align_columns
from bidaf_plugin.archives.ensemble import check_members, load_member
from bidaf_plugin.data.dataset_readers.squad_json import Paragraph
from bidaf_plugin.modules.ensemble_rules import Candidate, EnsembleRule, SpanDistribution
from bidaf_plugin.predictors.span_distributions import find_distributions
from bidaf_plugin.predictors.span_predictor import SpanPredictor

# So many are answered by all models before the next ones are read.
_QUESTIONS_AT_ONCE = 2_000


class EnsembleAnswers(NamedTuple):
    """
    Answers by question id.

    # Parameters

    single : `Dict[str, Dict[str, str]]`
        Those of each model, by its archive.
    together : `Dict[str, Dict[str, str]]`
        Those of all models, by the name of the rule.
    """

    single: Dict[str, Dict[str, str]]
    together: Dict[str, Dict[str, str]]


class EnsembleScore(NamedTuple):
    """How good the answers are, in percent. `answers_of` is an archive or the name of a rule."""

    answers_of: str
    em: float
    f1: float


def answer_together(
    archives: Sequence[str],
    paragraphs: Iterable[Paragraph],
    rules: Sequence[str],
    one_at_a_time: bool = False,
    max_answer_length: Optional[int] = None,
    cuda_device: int = -1,
) -> EnsembleAnswers:
    """
    Answers all questions on the paragraphs and shows progress.

    # Parameters

    archives : `Sequence[str]`
        Of span models, whatever their vocabularies and tokenizers.
    paragraphs : `Iterable[Paragraph]`
        Their gold answers are not looked at.
    rules : `Sequence[str]`
        Registered names of `EnsembleRule`s.
    one_at_a_time : `bool`, optional (default = `False`)
        Load one model, let it answer everything, and go on to the next. Otherwise all models are in
        memory, and what they say is not kept for longer than it takes to combine it.
    max_answer_length : `int`, optional (default = `None`)
        In place of what the models were trained with.
    cuda_device : `int`, optional (default = `-1`)
    """
    check_members(archives)

    def load(archive: str) -> SpanPredictor:
        return load_member(archive, cuda_device, max_answer_length=max_answer_length)

    questions = records_of(paragraphs)
    answers = EnsembleAnswers({archive: {} for archive in archives}, {rule: {} for rule in rules})
    groups: Iterable[List[JsonDict]] = [questions]
    get_member: Callable[[str], SpanPredictor] = load
    if one_at_a_time:
        # What is wrong with the last archive should not be found out after hours.
        for archive in archives:
            load(archive)
    else:
        get_member = {archive: load(archive) for archive in archives}.__getitem__
        groups = lazy_groups_of(questions, _QUESTIONS_AT_ONCE)
    with Tqdm.tqdm(total=len(questions) * len(archives), unit=" answers") as progress:
        for group in groups:
            _answer_group(group, get_member, answers, progress.update)
    return answers


def _answer_group(
    questions: Sequence[JsonDict],
    get_member: Callable[[str], SpanPredictor],
    answers: EnsembleAnswers,
    on_progress: Callable[[int], object],
) -> None:
    # A model that was loaded for this is let go before the next one comes.
    distributions_of_models = [
        find_distributions(get_member(archive), questions, on_progress)
        for archive in answers.single
    ]
    rules = [(EnsembleRule.by_name(name)(), found) for name, found in answers.together.items()]
    for question, *distributions in zip(questions, *distributions_of_models, strict=True):
        id, passage = question["id"], question["passage"]
        for found, distribution in zip(answers.single.values(), distributions, strict=True):
            answer = Candidate(distribution.best_span, distribution.confidence)
            found[id] = answer.text(passage)
        for rule, found in rules:
            found[id] = rule.best(distributions, passage).text(passage)


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
    distributions = [
        SpanDistribution(empty, empty, empty, empty, answer.span, answer.confidence)
        for answer, *_ in of_members
    ]
    if all(distribution.best_span is None for distribution in distributions):
        return of_members[0][0]
    return EnsembleRule.by_name("votes")().best(distributions, passage)


def _add_up(of_members: Sequence[Sequence[Candidate]], passage: str) -> Candidate:
    sums: Dict[Any, float] = {}
    for candidates in of_members:
        for span, probability in candidates:
            sums[span] = sums.get(span, 0.0) + probability / len(of_members)
    span = max(sums, key=lambda span: sums[span])
    return Candidate(span, sums[span])


def score_together(
    answers: EnsembleAnswers, paragraphs: Sequence[Paragraph]
) -> List[EnsembleScore]:
    """EM and F1 of each model, and of all by each rule; nothing if an answer is not known."""
    if not has_gold_answers(paragraphs):
        return []
    rows = []
    for name, predictions in [*answers.single.items(), *answers.together.items()]:
        scores = score_questions(questions_of(paragraphs), predictions)
        rows.append(EnsembleScore(name, mean_em(scores), mean_f1(scores)))
    return rows


def format_scores(scores: Sequence[EnsembleScore]) -> str:
    """A table as plain text."""
    rows = [["answers of", "EM", "F1"]]
    rows += [[score.answers_of, f"{score.em:.2f}", f"{score.f1:.2f}"] for score in scores]
    return align_columns(rows)

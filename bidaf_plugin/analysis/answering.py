"""
Models answer the questions of a file: one alone, or several together.
"""

from itertools import islice
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from allennlp.common.tqdm import Tqdm
from allennlp.common.util import JsonDict, lazy_groups_of

from bidaf_plugin.analysis.files import (
    first_answers,
    has_gold_answers,
    passages_of,
    questions_of,
    read_nbest,
    records_of,
)
from bidaf_plugin.analysis.formats import align_columns
from bidaf_plugin.analysis.scores import mean_em, mean_f1, score_questions
from bidaf_plugin.archives.ensemble import check_members, load_member
from bidaf_plugin.data.dataset_readers.squad_json import Paragraph
from bidaf_plugin.modules.ensemble_rules import (
    Candidate,
    EnsembleRule,
    SpanDistribution,
    SpansRule,
)
from bidaf_plugin.predictors.span_distributions import find_distributions
from bidaf_plugin.predictors.span_predictor import SpanPredictor

# Among so many questions those with passages of similar length are answered together, by all models before
# the next ones are read.
QUESTIONS_AT_ONCE = 2_000
# So many spans of each question are kept for other programs.
_NUM_SPANS = 10
# What can be done with them alone.
NBEST_RULES = ("votes", "spans")


def answer_paragraphs(
    predictor: SpanPredictor, paragraphs: Iterable[Paragraph], batch_size: Optional[int] = None
) -> List[JsonDict]:
    """
    What the predictor says of each question on the paragraphs, in their order, whatever limits the model was
    trained with. Shows progress. Without a `batch_size`, batches are as large as is fastest.
    """
    records = records_of(paragraphs)
    answers: List[JsonDict] = []
    with Tqdm.tqdm(total=len(records), unit=" questions", mininterval=0.5) as progress:
        for group in lazy_groups_of(records, QUESTIONS_AT_ONCE):
            questions = predictor.make_questions(group)
            answers += predictor.predict_questions(questions, batch_size, progress.update)
    return answers


def find_best_spans(
    predictor: SpanPredictor, paragraphs: Iterable[Paragraph]
) -> Dict[str, List[Candidate]]:
    """The most probable spans for all questions, by their ids, with progress."""
    records = records_of(paragraphs)
    found = distributions_of(predictor, records)
    return {
        record["id"]: best_spans(distribution, record["passage"])
        for record, distribution in zip(records, found, strict=True)
    }


def distributions_of(
    predictor: SpanPredictor, records: Sequence[JsonDict], batch_size: Optional[int] = None
) -> List[SpanDistribution]:
    """What the model says about all questions, in batches of at most `batch_size`, with progress."""
    found: List[SpanDistribution] = []
    with Tqdm.tqdm(total=len(records), unit=" questions", mininterval=0.5) as progress:
        for group in lazy_groups_of(records, batch_size or len(records)):
            found += find_distributions(predictor, group, progress.update)
    return found


def best_spans(distribution: SpanDistribution, passage: str) -> List[Candidate]:
    """The answer of a model, and what else is probable, the most probable first."""
    rule = SpansRule()
    answer = Candidate(distribution.best_span, distribution.confidence)
    others = list(islice(rule.candidates([distribution], passage), _NUM_SPANS))
    if distribution.no_answer_log_probs is not None:
        others.append(Candidate(None, rule.no_answer_probability([distribution])))
    others = [candidate for candidate in others if candidate.span != answer.span]
    others.sort(key=lambda candidate: -candidate.confidence)
    return [answer, *others][:_NUM_SPANS]


class EnsembleAnswers(NamedTuple):
    """Answers by question id: those of each model by its archive, and of all together by the rule."""

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
    Answers all questions on the paragraphs by some `EnsembleRule`s, and shows progress. The models of the
    archives may have any vocabularies and tokenizers.

    `one_at_a_time` loads one model, lets it answer everything, and goes on to the next. Otherwise all models
    are in memory, and what they say is not kept for longer than it takes to combine it.
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
        groups = lazy_groups_of(questions, QUESTIONS_AT_ONCE)
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


def answer_from_nbest(
    paths: Sequence[str], paragraphs: Sequence[Paragraph], rules: Sequence[str]
) -> Tuple[EnsembleAnswers, float]:
    """
    The same from files of n-best answers by some of `NBEST_RULES`, and how much of all probability is in them, on
    average.

    - `votes` is what it is with the models themselves.
    - `spans` is so as long as the best span is among those of each model. What a model gives to others counts
      as 0.
    """
    passages = passages_of(paragraphs)
    members = {path: read_nbest(path) for path in paths}
    answers = EnsembleAnswers(
        {path: first_answers(path, member, passages) for path, member in members.items()},
        {rule: {} for rule in rules},
    )
    for id, passage in passages.items():
        of_members = [member[id] for member in members.values() if id in member]
        for rule, found in answers.together.items():
            found[id] = combine_nbest(rule, of_members, passage)
    known = [
        min(sum(candidate.confidence for candidate in candidates), 1.0)
        for member in members.values()
        for candidates in member.values()
    ]
    return answers, sum(known) / max(len(known), 1)


def combine_nbest(rule: str, of_members: Sequence[Sequence[Candidate]], passage: str) -> str:
    """The answer of several models to a question, empty for none."""
    if not of_members:
        return ""
    return (_vote if rule == "votes" else _add_up)(of_members, passage).text(passage)


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
    return align_columns([["answers of", "EM", "F1"], *scores])

"""
Several models answer the questions of a file: each alone, and all of them together.
"""

from functools import partial
from typing import Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence

from allennlp.common.tqdm import Tqdm
from allennlp.common.util import JsonDict, lazy_groups_of

from bidaf_plugin.analysis.scores import mean_em, mean_f1, score_questions
from bidaf_plugin.analysis.squad_files import has_gold_answers
from bidaf_plugin.analysis.tables import align_columns
from bidaf_plugin.archives.ensemble import check_members, load_member
from bidaf_plugin.data.dataset_readers.squad_json import Paragraph
from bidaf_plugin.modules.ensemble_rules import Candidate, EnsembleRule
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
    questions = [
        {"id": question.id, "question": question.text, "passage": paragraph.passage}
        for paragraph in paragraphs
        for question in paragraph.questions
    ]
    answers = EnsembleAnswers({archive: {} for archive in archives}, {rule: {} for rule in rules})
    loaders: List[Callable[[], SpanPredictor]] = [
        partial(load_member, archive, cuda_device, max_answer_length=max_answer_length)
        for archive in archives
    ]
    groups: Iterable[List[JsonDict]] = [questions]
    if one_at_a_time:
        # What is wrong with the last archive should not be found out after hours.
        for loader in loaders:
            loader()
    else:
        loaders = [partial(_itself, loader()) for loader in loaders]
        groups = lazy_groups_of(questions, _QUESTIONS_AT_ONCE)
    with Tqdm.tqdm(total=len(questions) * len(archives), unit=" answers") as progress:
        for group in groups:
            _answer_group(group, loaders, answers, progress.update)
    return answers


def _itself(predictor: SpanPredictor) -> SpanPredictor:
    return predictor


def _answer_group(
    questions: Sequence[JsonDict],
    loaders: Sequence[Callable[[], SpanPredictor]],
    answers: EnsembleAnswers,
    on_progress: Callable[[int], object],
) -> None:
    # A model that was loaded for this is let go before the next one comes.
    of_models = [find_distributions(loader(), questions, on_progress) for loader in loaders]
    rules = [(EnsembleRule.by_name(name)(), found) for name, found in answers.together.items()]
    for question, *distributions in zip(questions, *of_models, strict=True):
        id, passage = question["id"], question["passage"]
        for found, distribution in zip(answers.single.values(), distributions, strict=True):
            answer = Candidate(distribution.best_span, distribution.confidence)
            found[id] = answer.text(passage)
        for rule, found in rules:
            found[id] = rule.best(distributions, passage).text(passage)


def score_together(
    answers: EnsembleAnswers, paragraphs: Sequence[Paragraph]
) -> List[EnsembleScore]:
    """EM and F1 of each model, and of all by each rule; nothing if an answer is not known."""
    questions = [question for paragraph in paragraphs for question in paragraph.questions]
    if not has_gold_answers(paragraphs):
        return []
    rows = []
    for name, predictions in [*answers.single.items(), *answers.together.items()]:
        scores = score_questions(questions, predictions)
        rows.append(EnsembleScore(name, mean_em(scores), mean_f1(scores)))
    return rows


def format_scores(scores: Sequence[EnsembleScore]) -> str:
    """A table as plain text."""
    rows = [["answers of", "EM", "F1"]]
    rows += [[score.answers_of, f"{score.em:.2f}", f"{score.f1:.2f}"] for score in scores]
    return align_columns(rows)

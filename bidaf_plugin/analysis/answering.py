"""
A model answers all questions of a file.
"""

from itertools import islice
from typing import Dict, Iterable, List, Optional, Sequence

from allennlp.common.tqdm import Tqdm
from allennlp.common.util import JsonDict, lazy_groups_of

from bidaf_plugin.analysis.prediction_files import path_beside, write_json, write_predictions
from bidaf_plugin.analysis.squad_files import records_of
from bidaf_plugin.data.dataset_readers.squad_json import Paragraph
from bidaf_plugin.modules.ensemble_rules import Candidate, SpanDistribution, SpansRule
from bidaf_plugin.predictors import SpanPredictor
from bidaf_plugin.predictors.span_distributions import find_distributions

# Among so many questions those with passages of similar length are answered together.
_QUESTIONS_AT_ONCE = 2_000
# So many spans of each question are kept for other programs.
_NUM_SPANS = 10


def answer_paragraphs(
    predictor: SpanPredictor, paragraphs: Iterable[Paragraph], batch_size: Optional[int] = None
) -> List[JsonDict]:
    """
    Answers all questions on the paragraphs, whatever limits the model was trained with, and shows
    progress.

    # Parameters

    predictor : `SpanPredictor`
    paragraphs : `Iterable[Paragraph]`
        From `read_paragraphs`. Their gold answers are not looked at.
    batch_size : `int`, optional (default = `None`)
        Questions per batch. By default as many as are answered fastest.

    # Returns

    `List[JsonDict]`
        What the predictor says of each question, in their order.
    """
    records = records_of(paragraphs)
    answers: List[JsonDict] = []
    with Tqdm.tqdm(total=len(records), unit=" questions", mininterval=0.5) as progress:
        for group in lazy_groups_of(records, _QUESTIONS_AT_ONCE):
            of_group: Dict[int, JsonDict] = {}
            questions = predictor.make_questions(group)
            for indices, batch_answers in predictor.predict_batches(questions, batch_size):
                of_group.update(zip(indices, batch_answers, strict=True))
                progress.update(len(indices))
            answers += [of_group[index] for index in range(len(group))]
    return answers


def write_answers(path: str, answers: Sequence[JsonDict]) -> List[str]:
    """
    Writes the records of answers as an official prediction file, and beside it what else they have:
    `n_best` lists and no-answer probabilities. The prediction file is written last: if it is there, all
    are. Returns the paths of the files.
    """
    paths = []
    for key, kind in (("n_best", "nbest"), ("no_answer_probability", "na_prob")):
        if answers and key in answers[0]:
            paths.append(path_beside(path, kind))
            write_json(paths[-1], {answer["id"]: answer[key] for answer in answers})
    write_predictions(path, {answer["id"]: answer["best_span_str"] for answer in answers})
    return [*paths, path]


def find_best_spans(
    predictor: SpanPredictor, paragraphs: Iterable[Paragraph]
) -> Dict[str, List[Candidate]]:
    """The most probable spans for all questions, by their ids, with progress."""
    records = records_of(paragraphs)
    with Tqdm.tqdm(total=len(records), unit=" questions", mininterval=0.5) as progress:
        distributions = find_distributions(predictor, records, progress.update)
    return {
        record["id"]: best_spans(distribution, record["passage"])
        for record, distribution in zip(records, distributions, strict=True)
    }


def best_spans(
    distribution: SpanDistribution, passage: str, number: int = _NUM_SPANS
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

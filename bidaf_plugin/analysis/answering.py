from typing import Iterable, List, Optional, Sequence

from allennlp.common.tqdm import Tqdm
from allennlp.common.util import JsonDict, lazy_groups_of

from bidaf_plugin.analysis.prediction_files import path_beside, write_json, write_predictions
from bidaf_plugin.data.dataset_readers.squad_json import Paragraph
from bidaf_plugin.predictors import SpanPredictor

# Among so many questions those with passages of similar length are answered together.
_QUESTIONS_AT_ONCE = 2_000


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
    records = [
        {"id": question.id, "question": question.text, "passage": paragraph.passage}
        for paragraph in paragraphs
        for question in paragraph.questions
    ]
    answers: List[JsonDict] = [{}] * len(records)
    with Tqdm.tqdm(total=len(records), unit=" questions", mininterval=0.5) as progress:
        first = 0
        for group in lazy_groups_of(records, _QUESTIONS_AT_ONCE):
            questions = predictor.make_questions(group)
            for places, batch_answers in predictor.predict_batches(questions, batch_size):
                for place, answer in zip(places, batch_answers, strict=True):
                    answers[first + place] = answer
                progress.update(len(places))
            first += len(group)
    return answers


def write_answers(path: str, answers: Sequence[JsonDict]) -> List[str]:
    """
    Writes the records of answers as an official prediction file, and beside it what else they have:
    `n_best` lists and no-answer probabilities.

    # Returns

    `List[str]`
        The paths of the files. The prediction file is written last: if it is there, all are.
    """
    paths = []
    for key, kind in (("n_best", "nbest"), ("no_answer_probability", "na_prob")):
        if answers and key in answers[0]:
            paths.append(path_beside(path, kind))
            write_json(paths[-1], {answer["id"]: answer[key] for answer in answers})
    write_predictions(path, {answer["id"]: answer["best_span_str"] for answer in answers})
    return [*paths, path]

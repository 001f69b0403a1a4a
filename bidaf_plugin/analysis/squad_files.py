"""
SQuAD files in which every question can be told by its id.
"""

from os import PathLike
from typing import Dict, Iterable, List, Sequence, Set, Union

from allennlp.common.util import JsonDict

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.squad_json import Paragraph, Question, read_squad_json


def read_paragraphs(path: Union[str, PathLike]) -> List[Paragraph]:
    """All paragraphs of a SQuAD file, with a `DataError` if two questions have the same id."""
    paragraphs = list(read_squad_json(path))
    ids: Set[str] = set()
    for paragraph in paragraphs:
        for question in paragraph.questions:
            if question.id in ids:
                raise DataError(
                    f"{paragraph.place}: the question id {question.id!r} is there twice; in a "
                    "prediction file an id stands for one question"
                )
            ids.add(question.id)
    return paragraphs


def read_gold_paragraphs(path: Union[str, PathLike]) -> List[Paragraph]:
    """Likewise, with a `DataError` if the right answer to a question is not known."""
    paragraphs = read_paragraphs(path)
    for paragraph in paragraphs:
        for question in paragraph.questions:
            # The score without such questions would not be comparable with any other.
            if not _has_gold_answer(question):
                raise DataError(
                    f"{paragraph.place}, question {question.id!r}: there is neither a gold answer to "
                    "score against nor 'is_impossible': true"
                )
    return paragraphs


def read_gold_questions(path: Union[str, PathLike]) -> List[Question]:
    """All questions of such a file, in its order."""
    return questions_of(read_gold_paragraphs(path))


def has_gold_answers(paragraphs: Sequence[Paragraph]) -> bool:
    """Whether the right answer to every question is known, so that there can be a score."""
    return all(map(_has_gold_answer, questions_of(paragraphs)))


def _has_gold_answer(question: Question) -> bool:
    return bool(question.answers or question.is_impossible)


def questions_of(paragraphs: Iterable[Paragraph]) -> List[Question]:
    return [question for paragraph in paragraphs for question in paragraph.questions]


def passages_of(paragraphs: Iterable[Paragraph]) -> Dict[str, str]:
    """The passage of each question, by its id."""
    return {q.id: paragraph.passage for paragraph in paragraphs for q in paragraph.questions}


def records_of(paragraphs: Iterable[Paragraph]) -> List[JsonDict]:
    """The questions as `SpanPredictor` takes them."""
    return [
        {"id": question.id, "question": question.text, "passage": paragraph.passage}
        for paragraph in paragraphs
        for question in paragraph.questions
    ]

"""
SQuAD files as `answer` and `score` need them: every question can be told by its id.
"""

from os import PathLike
from typing import List, Sequence, Set, Union

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
            if not question.answers and not question.is_impossible:
                raise DataError(
                    f"{paragraph.place}, question {question.id!r}: there is neither a gold answer to "
                    "score against nor 'is_impossible': true"
                )
    return paragraphs


def has_gold_answers(paragraphs: Sequence[Paragraph]) -> bool:
    """Whether the right answer to every question is known, so that there can be a score."""
    return all(
        question.answers or question.is_impossible
        for paragraph in paragraphs
        for question in paragraph.questions
    )


def read_gold_questions(path: Union[str, PathLike]) -> List[Question]:
    """All questions of such a file, in its order."""
    return [q for paragraph in read_gold_paragraphs(path) for q in paragraph.questions]

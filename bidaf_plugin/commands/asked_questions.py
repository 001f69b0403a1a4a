"""
How actions that look at single questions are told which: by their texts, or by ids of a SQuAD file.
"""

import argparse
from typing import Dict, List, NamedTuple

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.squad_json import Answer


class AskedQuestion(NamedTuple):
    """A question on a passage; its id is empty and its gold answers are none if they are not known."""

    id: str
    question: str
    passage: str
    answers: List[Answer]


def add_question_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--question", help="a question; give --passage with it")
    parser.add_argument("--passage", help="the text that holds the answer")
    parser.add_argument("--data", metavar="SQUAD", help="a SQuAD file; give --ids with it")
    parser.add_argument("--ids", help="ids of questions of that file, with commas between them")


def asked_questions(args: argparse.Namespace) -> List[AskedQuestion]:
    """The questions that the arguments mean."""
    texts, ids = (args.question, args.passage), (args.data, args.ids)
    for given, other in ((texts, ids), (ids, texts)):
        if None not in given and other == (None, None):
            return _find(*ids) if given is ids else [AskedQuestion("", *texts, [])]
    raise DataError("give either --question and --passage, or --data and --ids")


def _find(data: str, ids: str) -> List[AskedQuestion]:
    from bidaf_plugin.analysis.squad_files import read_paragraphs

    wanted = [id.strip() for id in ids.split(",") if id.strip()]
    found: Dict[str, AskedQuestion] = {
        question.id: AskedQuestion(question.id, question.text, paragraph.passage, question.answers)
        for paragraph in read_paragraphs(data)
        for question in paragraph.questions
        if question.id in wanted
    }
    for id in wanted:
        if id not in found:
            raise DataError(f"{data}: there is no question with the id {id!r}")
    if not wanted:
        raise DataError("--ids names no question")
    return [found[id] for id in wanted]

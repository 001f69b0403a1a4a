"""
Actions that look into the answers to single questions, which are given by their texts, or by ids of a SQuAD
file.
"""

import argparse
import os
from typing import Dict, List, NamedTuple

from overrides import overrides

from bidaf_plugin.archives.trust import add_trust_option
from bidaf_plugin.commands.action import Action
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.folders import check_folder
from bidaf_plugin.data.dataset_readers.squad_json import GoldAnswer

_METHODS = ("simple-gradient", "integrated-gradient", "smooth-gradient")


@Action.register("attention")
class Attention(Action):
    """
    Show which words of a passage and of a question attend to each other: the paper's Figure 3.

    FOLDER gets five files for each question, named by its id: a picture (.png and .svg) of the matrix,
    with the words of the question as rows and those of the passage as columns, of the weights of the
    passage words, and of the words with the strongest attention; a page (.html) that shows the
    attention of each word one points at; and the numbers (.json, .csv). A long passage is printed in
    several lines, as many as fit a page: those with the answer and those that matter most.

    Example: allennlp bidaf attention runs/squad/model.tar.gz -o attention \\
                 --question "Who built it?" --passage "The mill was built by Ada Orn in 1871."
             allennlp bidaf attention runs/squad/model.tar.gz -o attention \\
                 --data dev-v1.1.json --ids 56be4db0acb8001400a502ec,56be4db0acb8001400a502ed
    """

    @overrides
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("archive", help="the model, model.tar.gz")
        add_question_arguments(parser)
        parser.add_argument(
            "--threshold",
            type=float,
            default=0.5,
            help="name passage words whose attention to a question word is this or more",
        )
        parser.add_argument(
            "--whole-passage",
            action="store_true",
            help="print all lines of the passage, even if they take more than a page",
        )
        parser.add_argument(
            "-o", "--output", metavar="FOLDER", required=True, help="where the files go"
        )
        add_trust_option(parser)

    @overrides
    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.attention import find_attention
        from bidaf_plugin.analysis.attention_files import write_attention
        from bidaf_plugin.archives.load import load_span_predictor

        if not 0 < args.threshold <= 1:
            raise DataError(f"--threshold must be above 0 and at most 1, not {args.threshold:g}")
        check_folder(args.output)
        questions = asked_questions(args)
        predictor = load_span_predictor(args.archive)
        os.makedirs(args.output, exist_ok=True)
        for id, question, passage, answers in questions:
            attention = find_attention(predictor, question, passage, id, answers)
            paths = write_attention(attention, args.output, args.threshold, args.whole_passage)
            print(f"{question} {attention.answer or '(no answer)'}")
            print("  wrote " + ", ".join(paths))


@Action.register("saliency")
class Saliency(Action):
    """
    Show how much each word matters to an answer, by gradients.

    The methods are those of allennlp.interpret. FOLDER gets a page (.html) and the numbers (.json) for each
    question.

    Example: allennlp bidaf saliency runs/squad/model.tar.gz \\
                 --question "Who built it?" --passage "The mill was built by Ada Orn in 1871."
             allennlp bidaf saliency runs/squad/model.tar.gz --method integrated-gradient -o saliency \\
                 --data dev-v1.1.json --ids 56be4db0acb8001400a502ec
    """

    @overrides
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("archive", help="the model, model.tar.gz")
        add_question_arguments(parser)
        parser.add_argument(
            "--method", choices=_METHODS, default=_METHODS[0], help="how gradients make scores"
        )
        parser.add_argument("-o", "--output", metavar="FOLDER", help="where the files go")
        add_trust_option(parser)

    @overrides
    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.saliency import (
            find_saliency,
            format_saliency,
            write_saliency,
        )
        from bidaf_plugin.archives.load import load_predictor

        check_folder(args.output)
        questions = asked_questions(args)
        predictor = load_predictor(args.archive)
        for id, question, passage, _ in questions:
            record = {"question": question, "passage": passage}
            saliency = find_saliency(predictor, record, args.method)
            print(f"{question}\n\n{format_saliency(saliency)}\n")
            if args.output is not None:
                os.makedirs(args.output, exist_ok=True)
                print("wrote " + ", ".join(write_saliency(saliency, question, id, args.output)))


class AskedQuestion(NamedTuple):
    """A question on a passage; its id is empty and its gold answers are none if they are not known."""

    id: str
    question: str
    passage: str
    answers: List[GoldAnswer]


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

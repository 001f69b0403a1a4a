import argparse
import os
from typing import Iterator

from allennlp.common import Tqdm

from bidaf_plugin.commands.action import Action
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.folders import check_can_be_written
from bidaf_plugin.data.dataset_readers.cloze_files import iterate_questions
from bidaf_plugin.data.dataset_readers.cloze_question import (
    BadQuestions,
    QuestionError,
    RawQuestion,
    parse_question,
)
from bidaf_plugin.data.dataset_readers.packed_cloze import write_packed


@Action.register("pack-cloze")
class PackCloze(Action):
    """
    Pack a million .question files into one compact file.

    The files are read one at a time, checked, and packed as they are. The result is read once more
    and compared with what went in. OUT is there when all is done, and not before; it is a zip file, with
    JSON lines in it. `bidaf_cloze`, the dataset reader, takes OUT in place of the folder, and several
    readers each read their own part of it.

    Example: allennlp bidaf pack-cloze cnn/questions/training cnn_training.cloze
             allennlp bidaf pack-cloze 'questions.tar.gz!cnn/questions/test' cnn_test.cloze
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "source", help="a folder of .question files, or a tar archive, or archive!folder"
        )
        parser.add_argument("out", help="the file to write")
        parser.add_argument(
            "--skip-bad",
            action="store_true",
            help="skip and count questions that cannot be used, instead of stopping at the first; a "
            "truncated or damaged archive always stops",
        )
        parser.add_argument(
            "--without-answers",
            action="store_true",
            help="take questions without an answer, too, for prediction",
        )
        parser.add_argument("-f", "--force", action="store_true", help="replace OUT if it exists")

    def run(self, args: argparse.Namespace) -> None:
        if os.path.isdir(args.out):
            raise DataError(f"{args.out} is a folder; expected the name of a file to write")
        check_can_be_written(args.out)
        if os.path.exists(args.out) and not args.force:
            raise DataError(f"{args.out} exists: use --force to replace it")
        print(pack(args.source, args.out, args.skip_bad, not args.without_answers))


def pack(source: str, out: str, skip_bad: bool = False, needs_answer: bool = True) -> str:
    """
    Packs a folder, an archive, or a folder of an archive; verifies and says what was packed. Questions that
    cannot be used, like those without an answer that `needs_answer`, end it, or with `skip_bad` are counted.
    """
    bad = BadQuestions(skip_bad)
    num_packed = write_packed(out, _usable_questions(source, bad, needs_answer))
    size = os.path.getsize(out)
    return f"{out}: {num_packed:,} questions, {size:,} bytes, verified; {bad.summary()}"


def _usable_questions(source: str, bad: BadQuestions, needs_answer: bool) -> Iterator[RawQuestion]:
    num_usable = 0
    for question in Tqdm.tqdm(iterate_questions(source, bad), desc="packing", unit="question"):
        try:
            parse_question(question.content, question.place, question.id, needs_answer)
        except QuestionError as error:
            bad.handle(error)
        else:
            num_usable += 1
            yield question
    bad.report(source, num_usable)

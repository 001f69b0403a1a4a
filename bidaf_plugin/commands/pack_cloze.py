import argparse
import os

from allennlp.common import Tqdm
from overrides import overrides

from bidaf_plugin.commands.action import Action
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.folders import check_can_be_written
from bidaf_plugin.data.dataset_readers.bad_questions import BadQuestions
from bidaf_plugin.data.dataset_readers.cloze_archive import SeveralFoldersError
from bidaf_plugin.data.dataset_readers.cloze_files import iterate_questions, resolve
from bidaf_plugin.data.dataset_readers.cloze_question import (
    EXTENSION,
    QuestionError,
    parse_question,
)
from bidaf_plugin.data.dataset_readers.packed_cloze_writer import PackedClozeWriter


@Action.register("pack-cloze")
class PackCloze(Action):
    """
    Pack a million .question files into one compact file.

    The files are read one at a time, checked, and packed as they are. The result is read once more
    and compared with what went in. What was interrupted goes on when the same command is run again;
    until all is done the file is called OUT.partial. `bidaf_cloze`, the dataset reader, takes OUT in
    place of the folder, and several readers each read their own part of it.

    Example: allennlp bidaf pack-cloze cnn/questions/training cnn_training.cloze
             allennlp bidaf pack-cloze 'questions.tar.gz!cnn/questions/test' cnn_test.cloze
    """

    @overrides
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

    @overrides
    def run(self, args: argparse.Namespace) -> None:
        if os.path.isdir(args.out):
            raise DataError(f"{args.out} is a folder; expected the name of a file to write")
        check_can_be_written(args.out)
        if os.path.exists(args.out) and not args.force:
            raise DataError(f"{args.out} exists: use --force to replace it")
        try:
            print(pack(args.source, args.out, args.skip_bad, not args.without_answers))
        except KeyboardInterrupt:
            raise SystemExit("Interrupted: the same command goes on where it stopped.") from None
        except OSError as error:
            raise DataError(
                f"{args.out}.partial: {error.strerror or error}; the same command goes on where it "
                "stopped"
            ) from error


def pack(source: str, out: str, skip_bad: bool = False, needs_answer: bool = True) -> str:
    """
    Packs, verifies and says what was packed.

    # Parameters

    source : `str`
        A folder, an archive, or a folder of an archive.
    out : `str`
    skip_bad : `bool`, optional (default = `False`)
        Skip and count questions that cannot be used.
    needs_answer : `bool`, optional (default = `True`)
        False: a question without an answer can be used.
    """
    bad = BadQuestions(skip_bad)
    with PackedClozeWriter(out, _describe(source, needs_answer)) as writer:
        if writer.num_resumed:
            print(f"{writer.num_resumed:,} questions are in {writer.partial_path} already")
        packed_before = PackedBefore(source, writer)
        questions = iterate_questions(source, bad, is_wanted=lambda id: id not in packed_before)
        try:
            for question in Tqdm.tqdm(questions, desc="packing", unit="question"):
                try:
                    parse_question(question.content, question.place, question.id, needs_answer)
                except QuestionError as error:
                    bad.handle(error)
                else:
                    writer.add(question.id, question.content)
        except SeveralFoldersError:
            # Noticed late: an archive has no list of its files. The command that names a folder has
            # another source, which could not go on with what was packed.
            writer.discard()
            raise
        packed_before.check_all_are_there()
        bad.report(source, writer.num_questions)
        writer.finish()
    size = os.path.getsize(out)
    return f"{out}: {writer.num_questions:,} questions, {size:,} bytes, verified; {bad.summary()}"


def _describe(source: str, needs_answer: bool) -> str:
    """What must be the same if packing is to go on after an interruption."""
    local_path, _ = resolve(source)
    status = os.stat(local_path)
    # A folder gets another time when a file is added, which does no harm.
    state = "" if os.path.isdir(local_path) else f"{status.st_size} {status.st_mtime_ns}"
    return "\0".join([os.path.realpath(source), state, str(needs_answer)])


class PackedBefore:
    """
    Which questions were packed before an interruption. They are not read again, but those of a folder
    must still be there, and older than what was packed.

    # Parameters

    source : `str`
    writer : `PackedClozeWriter`
    """

    def __init__(self, source: str, writer: PackedClozeWriter) -> None:
        self._source = source
        self._writer = writer
        self._is_folder = os.path.isdir(source)
        self._num_met = 0

    def __contains__(self, id: str) -> bool:
        if not self._writer.is_packed(id):
            return False
        self._num_met += 1
        if self._is_folder:
            path = os.path.join(self._source, f"{id}{EXTENSION}")
            if os.stat(path).st_mtime_ns > self._writer.resumed_time:
                raise self._changed(f"{path} has changed since it was packed")
        return True

    def check_all_are_there(self) -> None:
        """To be called when all questions of the source were asked for."""
        num_missing = self._writer.num_resumed - self._num_met
        if num_missing:
            raise self._changed(
                f"{self._source}: {num_missing:,} of the questions that were packed before are gone"
            )

    def _changed(self, reason: str) -> DataError:
        return DataError(f"{reason}: remove {self._writer.partial_path} to begin anew")

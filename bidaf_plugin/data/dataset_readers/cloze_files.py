"""
Where cloze questions come from: a folder of `.question` files, a tar archive of them, a file packed
by `allennlp bidaf pack-cloze`, or a single `.question` file. All are read one question at a time.
"""

import os
import posixpath
import stat
import tarfile
import zlib
from itertools import chain, islice
from typing import Callable, Iterator, NamedTuple, Tuple

from allennlp.common.file_utils import cached_path

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.tar_files import BoundedTarInfo
from bidaf_plugin.data.dataset_readers.bad_questions import BadQuestions
from bidaf_plugin.data.dataset_readers.cloze_archive import (
    DAMAGES,
    find_questions,
    read_member,
)
from bidaf_plugin.data.dataset_readers.cloze_question import (
    EXTENSION,
    MAX_QUESTION_SIZE,
    QuestionError,
    id_of_file,
    is_question_file,
    too_large,
)
from bidaf_plugin.data.dataset_readers.packed_cloze import PackedCloze, RawQuestion, is_packed

# Folders of up to this many files are read in the order of their names. The names of larger ones
# are not kept in memory: they are read in the order in which the file system lists them.
MAX_SORTED = 100_000

# Whether the question with this id is wanted.
IsWanted = Callable[[str], bool]


class Shard(NamedTuple):
    """The share of one of several readers, each of which reads the questions of no other."""

    number: int = 0
    num_shards: int = 1

    def stretch(self, num_questions: int) -> Tuple[int, int]:
        """First question and one past the last; the first shards have one more, if need be."""
        size, num_larger = divmod(num_questions, self.num_shards)
        first = self.number * size + min(self.number, num_larger)
        return first, first + size + (self.number < num_larger)


def _everything(id: str) -> bool:
    return True


def iterate_questions(
    path: str,
    bad: BadQuestions,
    shard: Shard = Shard(),  # noqa: B008
    is_limited: bool = False,
    is_wanted: IsWanted = _everything,
) -> Iterator[RawQuestion]:
    """
    The questions of a folder, a tar archive (plain or compressed), a packed file or a `.question`
    file, which may be a URL. `archive.tar.gz!folder` are the questions in a folder of an archive.

    # Parameters

    path : `str`
    bad : `BadQuestions`
        Decides what happens with single questions that cannot be read.
    shard : `Shard`, optional
        Which share to read.
    is_limited : `bool`, optional (default = `False`)
        Whether all readers together want some questions from the beginning, and will stop by themselves
        when they have enough that can be used. A packed file is then dealt out question by question,
        like files, instead of in stretches, of which only the first would begin at the beginning.
    is_wanted : `Callable[[str], bool]`, optional
        Told an id, whether the question is wanted. The others are not read, where they are files.

    # Raises

    `DataError`, if there is nothing to read, and where an archive or a packed file is damaged: then
    an unknown part of the data is missing, and that is no matter of single questions.
    """
    local_path, folder = resolve(path)
    if folder:
        yield from _iterate_tar(local_path, path, folder, bad, shard, is_wanted)
    elif os.path.isdir(local_path):
        yield from _iterate_folder(local_path, bad, shard, is_wanted)
    elif is_packed(local_path):
        questions = _iterate_packed(PackedCloze(local_path), shard, is_limited)
        yield from (question for question in questions if is_wanted(question.id))
    elif path.endswith(EXTENSION):
        if shard.number == 0:
            # What was downloaded has another name.
            yield _read_file(local_path)._replace(id=id_of_file(os.path.basename(path)))
    else:
        yield from _iterate_tar(local_path, path, folder, bad, shard, is_wanted)


def _iterate_packed(packed: PackedCloze, shard: Shard, is_limited: bool) -> Iterator[RawQuestion]:
    if is_limited:
        questions = packed.read(0, packed.num_questions)
        return islice(questions, shard.number, None, shard.num_shards)
    # Nobody reads the blocks of others.
    return packed.read(*shard.stretch(packed.num_questions))


def read_question_file(path: str) -> RawQuestion:
    """A single `.question` file, and nothing else."""
    local_path, folder = resolve(path)
    is_file = path.endswith(EXTENSION) and os.path.isfile(local_path)
    if folder or not is_file or is_packed(local_path):
        raise DataError(f"{path}: expected a single {EXTENSION} file")
    return _read_file(local_path)._replace(id=id_of_file(os.path.basename(path)))


def resolve(path: str) -> Tuple[str, str]:
    """The local path, and the folder inside of it if one is named."""
    archive, exclamation_mark, folder = path.rpartition("!")
    if not exclamation_mark or os.path.exists(path):
        archive, folder = path, ""
    # The names of members are compared without "./".
    folder = posixpath.normpath(folder.strip("/")) if folder else ""
    try:
        return str(cached_path(archive)), "" if folder == "." else folder
    # It is a ValueError where the address is of a kind that nobody knows.
    except (FileNotFoundError, ValueError) as error:
        raise DataError(f"{archive}: there is no such file or folder") from error


def _read_file(path: str) -> RawQuestion:
    try:
        # Who opens a pipe would wait for somebody to write into it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with open(descriptor, "rb", buffering=0) as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise QuestionError(f"{path}: is not a file", "unreadable")
            if status.st_size > MAX_QUESTION_SIZE:
                raise too_large(path, status.st_size)
            return RawQuestion(path, id_of_file(os.path.basename(path)), file.read())
    except OSError as error:
        raise QuestionError(f"{path}: {error.strerror}", "unreadable") from error


def _iterate_folder(
    folder: str, bad: BadQuestions, shard: Shard, is_wanted: IsWanted
) -> Iterator[RawQuestion]:
    with os.scandir(folder) as entries:
        names = (entry.name for entry in entries if is_question_file(entry.name))
        first_names = list(islice(names, MAX_SORTED + 1))
        if not first_names:
            raise DataError(f"{folder}: there are no {EXTENSION} files in it{_subfolders(folder)}")
        share: Iterator[str]
        if len(first_names) <= MAX_SORTED:
            share = islice(sorted(first_names), shard.number, None, shard.num_shards)
        else:
            # By a checksum of the name and not by its place: two machines may list the same folder
            # in different orders.
            share = (
                name
                for name in chain(first_names, names)
                if zlib.crc32(os.fsencode(name)) % shard.num_shards == shard.number
            )
        for name in share:
            if not is_wanted(id_of_file(name)):
                continue
            try:
                question = _read_file(os.path.join(folder, name))
            except QuestionError as error:
                bad.handle(error)
            else:
                yield question


def _subfolders(folder: str) -> str:
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in islice(entries, 1000) if entry.is_dir())
    return f", but there are the folders {', '.join(names[:10])}" if names else ""


def _iterate_tar(
    local_path: str,
    path: str,
    folder: str,
    bad: BadQuestions,
    shard: Shard,
    is_wanted: IsWanted,
) -> Iterator[RawQuestion]:
    num_questions = 0
    try:
        with tarfile.open(local_path, "r:*", tarinfo=BoundedTarInfo) as archive:
            for member, name, id in find_questions(archive, path, folder):
                if num_questions % shard.num_shards == shard.number and is_wanted(id):
                    try:
                        content = read_member(archive, member, f"{path}, {name}")
                    except QuestionError as error:
                        bad.handle(error)
                    else:
                        yield RawQuestion(f"{path}, {name}", id, content)
                num_questions += 1
    except DAMAGES as error:
        # Of an unknown file, tarfile tells line by line what it is not.
        reason = str(error).partition("\n")[0]
        if num_questions == 0:
            raise DataError(
                f"{path}: neither a folder, nor a tar archive, nor a packed file that can be read "
                f"({reason})"
            ) from error
        # Never skipped: nobody knows how many questions are missing.
        raise DataError(
            f"{path}: truncated or damaged after {num_questions:,} questions ({reason})"
        ) from error

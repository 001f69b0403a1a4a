"""
Where cloze questions come from: a folder of `.question` files, a tar archive of them, a file packed
by `allennlp bidaf pack-cloze`, or a single `.question` file. All are read one question at a time.
"""

import os
import posixpath
import stat
import zlib
from itertools import chain, islice
from typing import Iterator, NamedTuple, Tuple

from allennlp.common.file_utils import cached_path

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.cloze_archive import read_tar
from bidaf_plugin.data.dataset_readers.cloze_question import (
    EXTENSION,
    MAX_QUESTION_SIZE,
    BadQuestions,
    QuestionError,
    RawQuestion,
    id_of_file,
    is_question_file,
    too_large,
)
from bidaf_plugin.data.dataset_readers.packed_cloze import is_packed, read_packed

# Folders of up to this many files are read in the order of their names. The names of larger ones
# are not kept in memory: they are read in the order in which the file system lists them.
MAX_SORTED = 100_000


class Shard(NamedTuple):
    """The share of one of several readers, each of which reads the questions of no other."""

    number: int = 0
    num_shards: int = 1

    def stretch(self, num_questions: int) -> Tuple[int, int]:
        """First question and one past the last; the first shards have one more, if need be."""
        size, num_larger = divmod(num_questions, self.num_shards)
        first = self.number * size + min(self.number, num_larger)
        return first, first + size + (self.number < num_larger)


def iterate_questions(
    path: str,
    bad: BadQuestions,
    shard: Shard = Shard(),  # noqa: B008
    is_limited: bool = False,
) -> Iterator[RawQuestion]:
    """
    The questions of a folder, a tar archive (plain or compressed), a packed file or a `.question`
    file, which may be a URL. `archive.tar.gz!folder` are the questions in a folder of an archive.

    Single questions that cannot be read are a matter of `bad`. It is a `DataError` if there is nothing to
    read, and where an archive or a packed file is damaged: then an unknown part of the data is missing.

    # Parameters

    path : `str`
    bad : `BadQuestions`
    shard : `Shard`, optional
        Which share to read.
    is_limited : `bool`, optional (default = `False`)
        Whether all readers together want some questions from the beginning, and will stop by themselves
        when they have enough that can be used. A packed file is then dealt out question by question,
        like files, instead of in stretches, of which only the first would begin at the beginning.
    """
    local_path, folder = _resolve(path)
    if not folder and os.path.isdir(local_path):
        yield from _read_folder(local_path, bad, shard)
    elif not folder and is_packed(local_path):
        if is_limited:
            yield from islice(read_packed(local_path), shard.number, None, shard.num_shards)
        else:
            # Nobody reads the blocks of others.
            yield from read_packed(local_path, shard.stretch)
    elif not folder and path.endswith(EXTENSION):
        if shard.number == 0:
            yield _read_single(local_path, path)
    else:
        yield from read_tar(local_path, path, folder, bad, shard)


def read_question_file(path: str) -> RawQuestion:
    """A single `.question` file, and nothing else."""
    local_path, folder = _resolve(path)
    is_file = path.endswith(EXTENSION) and os.path.isfile(local_path)
    if folder or not is_file or is_packed(local_path):
        raise DataError(f"{path}: expected a single {EXTENSION} file")
    return _read_single(local_path, path)


def _read_single(local_path: str, path: str) -> RawQuestion:
    # What was downloaded has another name.
    return _read_file(local_path)._replace(id=id_of_file(os.path.basename(path)))


def _resolve(path: str) -> Tuple[str, str]:
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


def _read_folder(folder: str, bad: BadQuestions, shard: Shard) -> Iterator[RawQuestion]:
    with os.scandir(folder) as entries:
        names = (entry.name for entry in entries if is_question_file(entry.name))
        first_names = list(islice(names, MAX_SORTED + 1))
        if not first_names:
            raise DataError(f"{folder}: there are no {EXTENSION} files in it{_subfolders(folder)}")
        share: Iterator[str]
        if len(first_names) <= MAX_SORTED:
            share = islice(sorted(first_names), shard.number, None, shard.num_shards)
        else:
            # By a checksum of the name and not by its index: two machines may list the same folder
            # in different orders.
            share = (
                name
                for name in chain(first_names, names)
                if zlib.crc32(os.fsencode(name)) % shard.num_shards == shard.number
            )
        for name in share:
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

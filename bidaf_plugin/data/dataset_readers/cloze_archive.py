"""
A tar archive of `.question` files, read from its beginning to its end.
"""

import lzma
import os
import tarfile
from typing import Iterator, Optional, Set, Tuple

from bidaf_plugin.common.errors import DAMAGES, DataError
from bidaf_plugin.common.tar_files import MAX_FILE_BYTES, BoundedTarInfo
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

_DAMAGES = (*DAMAGES, lzma.LZMAError, OSError)

_TAR_BLOCK = 512
# Folders that a message names.
_MAX_NAMED = 10


def read_tar(
    local_path: str, path: str, folder: str, bad: BadQuestions, shard: Tuple[int, int]
) -> Iterator[RawQuestion]:
    """
    The questions in a folder of an archive that messages call `path`, or without a folder in the only one
    that has questions. A `Shard` says which to read, and `bad` what happens with single ones that cannot be.
    It is a `DataError` if there are none, or in several folders, or if the archive is damaged.
    """
    number, num_shards = shard
    num_questions = 0
    try:
        with tarfile.open(local_path, "r:*", tarinfo=BoundedTarInfo) as archive:
            for member, name in _find_questions(archive, path, folder):
                if num_questions % num_shards == number:
                    place = f"{path}, {name}"
                    try:
                        content = _read_member(archive, member, place)
                    except QuestionError as error:
                        bad.handle(error)
                    else:
                        yield RawQuestion(place, id_of_file(os.path.basename(name)), content)
                num_questions += 1
    except _DAMAGES as error:
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


def _find_questions(
    archive: tarfile.TarFile, path: str, folder: str
) -> Iterator[Tuple[tarfile.TarInfo, str]]:
    """
    The questions of a folder, or of the only one that has any, each with its name; some may be links. As
    on a disk, those of folders in it are not among them: training and test data are not to be read
    together by mistake.
    """
    only_parent: Optional[str] = None
    other_parents: Set[str] = set()
    for member in _members(archive):
        name = member.name.removeprefix("./")
        is_file_or_link = member.isfile() or member.issym() or member.islnk()
        if not is_file_or_link or not is_question_file(name):
            continue
        parent = os.path.dirname(name)
        if folder and parent != folder:
            if len(other_parents) < _MAX_NAMED:
                other_parents.add(parent)
            continue
        if only_parent not in (None, parent):
            raise DataError(
                f"{path}: there are questions in several folders, {only_parent!r} and "
                f"{parent!r}: name one of them, like '{path}!{parent}'"
            )
        only_parent = parent
        yield member, name
    _check_end(archive)
    if only_parent is None:
        of_folder = f" in {folder!r}" if folder else ""
        of_others = f", but in {', '.join(sorted(other_parents))}" if other_parents else ""
        raise DataError(f"{path}: there are no {EXTENSION} files{of_folder}{of_others}")


def _members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    while (member := archive.next()) is not None:
        # tarfile would remember every member of a million.
        archive.members = []  # type: ignore[attr-defined]
        if not 0 <= member.size <= MAX_FILE_BYTES:
            # It would go back to where it was, and around again, or to where nothing can be.
            raise tarfile.ReadError(f"a member of {member.size:,} bytes")
        yield member


def _read_member(archive: tarfile.TarFile, member: tarfile.TarInfo, place: str) -> bytes:
    """The content of a question, or a `QuestionError` that names `place`."""
    if not member.isfile():
        # What it names may stand before it, where an archive is not read again.
        raise QuestionError(f"{place}: is a link", "link in archive")
    if member.size > MAX_QUESTION_SIZE:
        raise too_large(place, member.size)
    file = archive.extractfile(member)
    assert file is not None  # it is a regular file
    content = file.read()
    if len(content) < member.size:
        raise tarfile.ReadError("unexpected end of data")
    return content


def _check_end(archive: tarfile.TarFile) -> None:
    """
    tarfile takes an archive for whole that was cut off between two members, and one with a damaged
    member in its middle for ended there.
    """
    file = archive.fileobj
    assert file is not None
    if file.tell() < archive.offset + _TAR_BLOCK:
        raise tarfile.ReadError("the end mark is missing")
    # Zeros to the end, where compressed files have their checksum.
    while rest := file.read(1 << 16):
        if rest.strip(b"\0"):
            raise tarfile.ReadError("there is more behind what can be read")

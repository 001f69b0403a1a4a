"""
A tar archive of `.question` files, read from its beginning to its end.
"""

import lzma
import os
import tarfile
import zlib
from typing import Iterator, NamedTuple, Optional

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.dataset_readers.cloze_question import id_of_file, is_question_file

# What reading a truncated or damaged archive raises.
DAMAGES = (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError)

_TAR_BLOCK = 512


class SeveralFoldersError(DataError):
    """An archive has questions in several folders, and none of them is named."""


class ArchivedQuestion(NamedTuple):
    """A question of an archive. The member may be a link."""

    member: tarfile.TarInfo
    name: str
    id: str


def find_questions(archive: tarfile.TarFile, path: str, folder: str) -> Iterator[ArchivedQuestion]:
    """The questions below a folder, or of the only one that has any."""
    only_parent: Optional[str] = None
    for member in _members(archive):
        name = member.name.removeprefix("./")
        is_file_or_link = member.isfile() or member.issym() or member.islnk()
        if not is_file_or_link or not is_question_file(name) or not _is_below(name, folder):
            continue
        parent = os.path.dirname(name)
        if not folder and only_parent not in (None, parent):
            raise SeveralFoldersError(
                f"{path}: there are questions in several folders, {only_parent!r} and "
                f"{parent!r}: name one of them, like '{path}!{parent}'"
            )
        only_parent = parent
        below = folder or parent
        name_below = name.removeprefix(f"{below}/") if below else name
        yield ArchivedQuestion(member, name, id_of_file(name_below))


def _members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    while (member := archive.next()) is not None:
        # tarfile would remember every member of a million.
        archive.members = []  # type: ignore[attr-defined]
        yield member


def _is_below(name: str, folder: str) -> bool:
    return not folder or name.startswith(f"{folder}/")


def read_member(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    assert file is not None  # it is a regular file
    content = file.read()
    if len(content) < member.size:
        raise tarfile.ReadError("unexpected end of data")
    return content


def check_end(archive: tarfile.TarFile) -> None:
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

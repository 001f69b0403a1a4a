"""
Many cloze questions in one file: a zip archive whose members are blocks of questions, as JSON lines
`["id", "content of the .question file"]`. A block is named by the number of its first question, so that
any of the questions can be read without most of the others; the archive's comment says how many there are.
"""

import json
import re
import struct
import zlib
from itertools import pairwise
from typing import Callable, Iterable, Iterator, List, Tuple
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from more_itertools import constrained_batches

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import open_atomically
from bidaf_plugin.data.dataset_readers.cloze_question import RawQuestion

_ZIP_MAGIC = b"PK\3\4"
# Of the format that earlier versions wrote.
_OLD_MAGIC = b"BiDAFclz"
_COMMENT = b"cloze questions of bidaf_plugin, format 2: %d"
# Blocks hold about this many bytes before compression. A damaged file cannot ask for much more.
BLOCK_SIZE = 1 << 18
_MAX_BLOCK_SIZE = 1 << 28
# What zipfile and json raise where a file is damaged, or where what it says is out of all bounds.
_DAMAGES = (
    *(BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(LookupError, OverflowError, RuntimeError, ValueError),
)


def is_packed(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            head = file.read(len(_OLD_MAGIC))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error
    if head == _OLD_MAGIC:
        raise DataError(f"{path}: packed in the format of an earlier version: pack it again")
    return head.startswith(_ZIP_MAGIC)


def read_packed(
    path: str, choose: Callable[[int], Tuple[int, int]] = lambda num_questions: (0, num_questions)
) -> Iterator[RawQuestion]:
    """
    The questions of a packed file, in order. Told how many there are, `choose` says which are wanted: the
    first, and one past the last. Only their blocks are read. It is a `DataError` if the file is truncated,
    damaged, or not of this format.
    """
    try:
        archive = ZipFile(path)
    except _DAMAGES as error:
        raise DataError(
            f"{path}: the packed file is truncated or damaged at its end ({error}): pack it again"
        ) from error
    with archive:
        starts = _starts_of_blocks(archive, path)
        first, end = choose(starts[-1])
        for number, (start, following) in enumerate(pairwise(starts)):
            if following <= first or start >= end:
                continue
            try:
                lines = _read_block(archive, archive.infolist()[number])
                if len(lines) != following - start:
                    raise ValueError(f"{len(lines)} questions instead of {following - start}")
                records = [_parse(line) for line in lines[max(first - start, 0) : end - start]]
            except _DAMAGES as error:
                raise DataError(
                    f"{path}: the packed file is damaged after {start:,} questions, in its block "
                    f"{number}: {error}"
                ) from error
            for id, content in records:
                yield RawQuestion(f"{path}, {id}", id, content)


def _starts_of_blocks(archive: ZipFile, path: str) -> List[int]:
    """The number of each block's first question; behind them, how many questions there are."""
    comment = re.fullmatch(_COMMENT.replace(b"%d", rb"(\d{1,15})"), archive.comment)
    if comment is None:
        raise DataError(
            f"{path}: a zip file, but not a whole one of the format that `allennlp bidaf pack-cloze` writes: "
            "pack the questions again"
        )
    names = archive.namelist()
    starts = [int(name) for name in names if re.fullmatch("[0-9]{1,15}", name)] + [int(comment[1])]
    # From 0 upwards, so that every question is in one of the blocks, and none of these is empty.
    is_rising = all(start < following for start, following in pairwise(starts))
    if len(starts) != len(names) + 1 or starts[0] != 0 or not is_rising:
        raise DataError(
            f"{path}: the packed file is truncated or damaged at its end (its blocks are not numbered "
            "from the first question to the last): pack it again"
        )
    return starts


def _read_block(archive: ZipFile, block: ZipInfo) -> List[bytes]:
    if block.file_size > _MAX_BLOCK_SIZE or block.compress_type != ZIP_DEFLATED:
        raise ValueError(f"{block.file_size:,} bytes of type {block.compress_type} are no block")
    return archive.read(block).splitlines()


def _parse(line: bytes) -> Tuple[str, bytes]:
    record = json.loads(line)
    if not isinstance(record, list) or [type(value) for value in record] != [str, str]:
        raise ValueError("a line is no question")
    id, content = record
    return id, content.encode("utf-8")


def _size(question: RawQuestion) -> int:
    return len(question.content)


def write_packed(path: str, questions: Iterable[RawQuestion]) -> int:
    """
    Packs questions, whose content must be UTF-8, reads the file again to verify it, and returns their
    number. The file is either whole or not there, whatever happens meanwhile.
    """
    num_questions = 0
    with open_atomically(path, "wb") as file:
        with ZipFile(file, "w", ZIP_DEFLATED) as archive:
            for block in constrained_batches(questions, BLOCK_SIZE, get_len=_size, strict=False):
                lines = [json.dumps([one.id, one.content.decode("utf-8")]) for one in block]
                # Without the time of day: the same questions become the same file.
                member = ZipInfo(f"{num_questions:012}")
                archive.writestr(member, "\n".join(lines), ZIP_DEFLATED)
                num_questions += len(block)
            archive.comment = _COMMENT % num_questions
        file.flush()
        # A zip file has checksums of what went into it.
        try:
            for _ in read_packed(file.name):
                pass
        except DataError as error:
            raise DataError(
                f"{path}: the packed file does not hold what was packed: pack it again"
            ) from error
    return num_questions

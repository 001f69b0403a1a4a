"""
The format of a packed file of cloze questions. All numbers are little-endian.

| part | content |
|---|---|
| head | `HEAD_MAGIC`, then the source's fingerprint |
| blocks | `BlockHead`, then zlib-compressed records: length of id and of content, id, content |
| index | zlib-compressed JSON: version, number of questions, checksum, and each block's place |
| tail | place, length and CRC-32 of the index, then `TAIL_MAGIC` |

A record's content is the `.question` file, byte by byte.
"""

import hashlib
import json
import os
import struct
import zlib
from bisect import bisect_right
from itertools import pairwise
from typing import Any, BinaryIO, Iterator, List, NamedTuple, Tuple

from bidaf_plugin.common.errors import DataError

VERSION = 1
HEAD_MAGIC = b"BiDAFclz"
TAIL_MAGIC = b"clzEnd\r\n"
BLOCK_MAGIC = b"blck"
HEAD = struct.Struct("<8sQ")
BLOCK_HEAD = struct.Struct("<4sIIII")
RECORD_HEAD = struct.Struct("<II")
TAIL = struct.Struct("<QII8s")
# Blocks hold about this many bytes before compression. A damaged file cannot ask for much more.
BLOCK_SIZE = 1 << 18
_MAX_BLOCK_SIZE = 1 << 28
_MAX_INDEX_SIZE = 1 << 28


class RawQuestion(NamedTuple):
    """The bytes of a `.question` file; `place` names it in messages."""

    place: str
    id: str
    content: bytes


class BlockHead(NamedTuple):
    magic: bytes
    compressed_length: int
    length: int
    num_questions: int
    crc32: int


def is_packed(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(HEAD_MAGIC)) == HEAD_MAGIC
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error


def checksum(id: str, content: bytes) -> int:
    """Of one question. The sum over all, modulo 2^64, does not depend on their order."""
    digest = hashlib.blake2b(id.encode("utf-8", "surrogateescape"), digest_size=8)
    digest.update(b"\0" + content)
    return int.from_bytes(digest.digest(), "little")


def encode_block(records: List[Tuple[str, bytes]]) -> bytes:
    """A block with its head."""
    pieces = []
    for id, content in records:
        encoded_id = id.encode("utf-8", "surrogateescape")
        pieces += [RECORD_HEAD.pack(len(encoded_id), len(content)), encoded_id, content]
    raw = b"".join(pieces)
    compressed = zlib.compress(raw)
    head = BLOCK_HEAD.pack(
        BLOCK_MAGIC, len(compressed), len(raw), len(records), zlib.crc32(compressed)
    )
    return head + compressed


def read_block(file: BinaryIO) -> List[Tuple[str, bytes]]:
    """
    The ids and contents of the block at which `file` stands.

    # Raises

    `ValueError`, which says what is wrong with the block.
    """
    encoded_head = file.read(BLOCK_HEAD.size)
    if len(encoded_head) < BLOCK_HEAD.size:
        raise ValueError("it is cut off")
    head = BlockHead(*BLOCK_HEAD.unpack(encoded_head))
    if head.magic != BLOCK_MAGIC or not 0 < head.length <= _MAX_BLOCK_SIZE:
        raise ValueError("its head is damaged")
    compressed = file.read(head.compressed_length)
    if len(compressed) < head.compressed_length:
        raise ValueError("it is cut off")
    if zlib.crc32(compressed) != head.crc32:
        raise ValueError("its checksum is wrong")
    try:
        raw = zlib.decompressobj().decompress(compressed, head.length)
        records = list(_decode_records(raw))
    except (zlib.error, struct.error) as error:
        raise ValueError(str(error)) from error
    if len(raw) != head.length or len(records) != head.num_questions:
        raise ValueError("its length is wrong")
    return records


def _decode_records(raw: bytes) -> Iterator[Tuple[str, bytes]]:
    position = 0
    while position < len(raw):
        id_length, content_length = RECORD_HEAD.unpack_from(raw, position)
        id_start = position + RECORD_HEAD.size
        content_start = id_start + id_length
        position = content_start + content_length
        if position > len(raw):
            raise struct.error("a record is cut off")
        id = raw[id_start:content_start].decode("utf-8", "surrogateescape")
        yield id, raw[content_start:position]


def _check_index(index: Any, index_place: int) -> None:
    """
    Raises a `ValueError` if it is none: what it says decides where to read, and how much. Whether it is
    right about each block shows when that is read.
    """
    if not isinstance(index, dict) or "version" not in index:
        raise ValueError("its index is none")
    if index["version"] != VERSION:
        # What other versions have in it is not known.
        return
    places, before = index.get("block_places"), index.get("questions_before")
    if not isinstance(places, list) or not isinstance(before, list) or "checksum" not in index:
        raise ValueError("its index is none")
    for number in (index.get("num_questions"), *places, *before):
        if not isinstance(number, int) or not 0 <= number < 1 << 63:
            raise ValueError("its index has something else than numbers")
    # From 0 upwards, so that every question is in one of the blocks, and none of these is empty.
    for first, numbers in (
        (0, [*before, index["num_questions"]]),
        (HEAD.size, [*places, index_place]),
    ):
        is_rising = all(number < following for number, following in pairwise(numbers))
        if len(places) != len(before) or numbers[0] != first or not is_rising:
            raise ValueError("its index does not count the questions of all blocks")


class PackedCloze:
    """
    A packed file of cloze questions: any stretch of them can be read without reading the others.

    # Parameters

    path : `str`

    # Raises

    `DataError`, if the file is truncated, damaged or of another version.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        index, index_place = self._read_index()
        self.num_questions: int = index["num_questions"]
        self.checksum: int = index["checksum"]
        self._block_places: List[int] = index["block_places"]
        # How many questions stand before each block.
        self._questions_before: List[int] = index["questions_before"]
        # Where the next block, or the index, must begin, and how many questions stand before it.
        self._place_after = [*self._block_places[1:], index_place]
        self._questions_to = [*self._questions_before[1:], self.num_questions]

    def _read_index(self) -> Tuple[Any, int]:
        try:
            with open(self.path, "rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(size - TAIL.size, 0))
                place, length, crc32, magic = TAIL.unpack(file.read(TAIL.size))
                file.seek(min(place, size))
                compressed = file.read(length)
            if magic != TAIL_MAGIC or len(compressed) < length or zlib.crc32(compressed) != crc32:
                raise ValueError("its index is missing")
            index = json.loads(zlib.decompressobj().decompress(compressed, _MAX_INDEX_SIZE))
            _check_index(index, place)
        except (struct.error, ValueError, zlib.error, RecursionError) as error:
            raise DataError(
                f"{self.path}: the packed file is truncated or damaged at its end ({error}): pack it "
                "again"
            ) from error
        if index["version"] != VERSION:
            raise DataError(
                f"{self.path}: packed in version {index['version']!r} of the format, this is "
                f"version {VERSION}: pack it again"
            )
        return index, place

    @property
    def num_blocks(self) -> int:
        return len(self._block_places)

    def read(self, first: int, end: int) -> Iterator[RawQuestion]:
        """
        The questions `first` up to `end` (exclusive), in order. Only their blocks are read. One that
        is damaged raises a `DataError`.
        """
        if first >= end:
            return
        with open(self.path, "rb") as file:
            for block in range(bisect_right(self._questions_before, first) - 1, self.num_blocks):
                before = self._questions_before[block]
                if before >= end:
                    break
                try:
                    file.seek(self._block_places[block])
                    records = read_block(file)
                    end_of_block = (file.tell(), before + len(records))
                    if end_of_block != (self._place_after[block], self._questions_to[block]):
                        raise ValueError("the index says otherwise where it ends")
                except ValueError as error:
                    raise DataError(
                        f"{self.path}: the packed file is damaged after {before:,} questions, in its "
                        f"block {block}: {error}"
                    ) from error
                for id, content in records[max(first - before, 0) : end - before]:
                    yield RawQuestion(f"{self.path}, {id}", id, content)

    def verify(self) -> None:
        """Reads everything and compares it with the checksum of what was packed."""
        total = count = 0
        for question in self.read(0, self.num_questions):
            total += checksum(question.id, question.content)
            count += 1
        if count != self.num_questions or total % (1 << 64) != self.checksum:
            raise DataError(
                f"{self.path}: the packed file does not hold what was packed: pack it again"
            )

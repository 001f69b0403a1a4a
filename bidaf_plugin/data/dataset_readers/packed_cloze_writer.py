import fcntl
import hashlib
import json
import os
import zlib
from types import TracebackType
from typing import BinaryIO, List, Optional, Tuple, Type

import numpy

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.packed_cloze import (
    BLOCK_SIZE,
    HEAD,
    HEAD_MAGIC,
    TAIL,
    TAIL_MAGIC,
    VERSION,
    PackedCloze,
    checksum,
    encode_block,
    read_block,
)


class PackedClozeWriter:
    """
    Writes a packed file of cloze questions (see `packed_cloze`) and, if it was interrupted, goes on
    with it: whole blocks stay, `is_packed` tells which questions they hold.

    Until `finish` is called the file is named `path` + `.partial`.

    # Parameters

    path : `str`
    source : `str`
        Where the questions come from, and how they are chosen. A file that was begun from another
        source is refused.

    # Attributes

    num_resumed : `int`
        How many questions were packed before an interruption.
    resumed_time : `int`
        When the last of them was packed, in nanoseconds as in `os.stat`.
    """

    def __init__(self, path: str, source: str) -> None:
        self._path = path
        self.partial_path = f"{path}.partial"
        digest = hashlib.blake2b(source.encode("utf-8", "surrogateescape"), digest_size=8)
        self._head = HEAD.pack(HEAD_MAGIC, int.from_bytes(digest.digest(), "little"))
        self._block_places: List[int] = []
        self._questions_before: List[int] = []
        self._num_questions = 0
        self._checksum = 0
        self._block: List[Tuple[str, bytes]] = []
        self._block_length = 0
        self._is_discarded = False
        self._file = self._open()
        self.resumed_time = os.fstat(self._file.fileno()).st_mtime_ns
        try:
            # Eight bytes for each question, and no names: there may be a million.
            # Shape: (num_packed,)
            self._packed_ids = numpy.sort(numpy.array(self._go_on(), dtype=numpy.uint64))
        except BaseException:
            self._file.close()
            raise
        self.num_resumed = self._num_questions

    def _open(self) -> BinaryIO:
        try:
            descriptor = os.open(self.partial_path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise DataError(f"{self.partial_path}: {error.strerror}") from error
        file = os.fdopen(descriptor, "r+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            raise DataError(f"{self.partial_path}: another process is writing it") from error
        if not self._is_still_partial(file):
            # Another process has finished it before the lock: it is `path` now.
            file.close()
            return self._open()
        return file

    def _is_still_partial(self, file: BinaryIO) -> bool:
        try:
            return os.path.samestat(os.fstat(file.fileno()), os.stat(self.partial_path))
        except FileNotFoundError:
            return False

    def _go_on(self) -> List[int]:
        """Puts the file behind the last block that is whole; what its questions' ids hash to."""
        self._file.seek(0)
        head = self._file.read(HEAD.size)
        if len(head) == HEAD.size and head != self._head:
            raise DataError(
                f"{self.partial_path} was begun with another source, with other options, or before "
                "the source changed: remove it, or name another file"
            )
        packed_ids: List[int] = []
        if len(head) < HEAD.size:
            self._file.seek(0)
            self._file.truncate()
            self._file.write(self._head)
            return packed_ids
        while True:
            place = self._file.tell()
            try:
                records = read_block(self._file)
            except ValueError:
                self._file.seek(place)
                self._file.truncate()
                return packed_ids
            self._count_block(place, records)
            packed_ids += [checksum(id, b"") for id, _ in records]

    def _count_block(self, place: int, records: List[Tuple[str, bytes]]) -> None:
        self._block_places.append(place)
        self._questions_before.append(self._num_questions)
        self._num_questions += len(records)
        self._checksum += sum(checksum(id, content) for id, content in records)

    def is_packed(self, id: str) -> bool:
        """Whether the question was packed before an interruption."""
        if not len(self._packed_ids):
            return False
        wanted = numpy.uint64(checksum(id, b""))
        place = int(numpy.searchsorted(self._packed_ids, wanted))
        return place < len(self._packed_ids) and bool(self._packed_ids[place] == wanted)

    def add(self, id: str, content: bytes) -> None:
        self._block.append((id, content))
        self._block_length += len(content)
        if self._block_length >= BLOCK_SIZE:
            self._write_block()

    def _write_block(self) -> None:
        if self._block:
            self._count_block(self._file.tell(), self._block)
            self._file.write(encode_block(self._block))
            self._block, self._block_length = [], 0

    @property
    def num_questions(self) -> int:
        return self._num_questions + len(self._block)

    def finish(self) -> None:
        """Writes the index, verifies the file and gives it its name."""
        self._write_block()
        index = {
            "version": VERSION,
            "num_questions": self._num_questions,
            "checksum": self._checksum % (1 << 64),
            "block_places": self._block_places,
            "questions_before": self._questions_before,
        }
        compressed = zlib.compress(json.dumps(index).encode("ascii"))
        place = self._file.tell()
        self._file.write(compressed)
        self._file.write(TAIL.pack(place, len(compressed), zlib.crc32(compressed), TAIL_MAGIC))
        self._file.flush()
        os.fsync(self._file.fileno())
        PackedCloze(self.partial_path).verify()
        os.replace(self.partial_path, self._path)

    def discard(self) -> None:
        """To be called before an error leaves the context: nobody will go on with this file."""
        self._is_discarded = True

    def __enter__(self) -> "PackedClozeWriter":
        return self

    def __exit__(
        self,
        error_class: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if error is not None and (self._num_questions == 0 or self._is_discarded):
            # There is nothing to go on with.
            os.remove(self.partial_path)
        self._file.close()

"""
Files that are either whole or not there, lines in chunks of bounded size, and JSON that everybody can read.
"""

import json
import os
import select
from contextlib import contextmanager
from typing import IO, Any, BinaryIO, Callable, Iterable, Iterator, List, Optional, Tuple
from uuid import uuid4

PairsHook = Callable[[List[Tuple[str, Any]]], Any]

# A stream that is silent for this many seconds is not waited for.
_PATIENCE = 0.05
_BYTES_PER_READ = 1 << 16


@contextmanager
def open_atomically(path: str, mode: str = "w") -> Iterator[IO[Any]]:
    """
    A file to write, which is either whole or not there, whatever happens meanwhile. A link stays a
    link; a pipe or a device is written to as it is.
    """
    encoding = None if "b" in mode else "utf-8"
    is_regular = os.path.isfile(path) or not os.path.exists(path)
    final_path = os.path.realpath(path)
    written_path = f"{final_path}.{uuid4().hex}.tmp" if is_regular else path
    try:
        with open(written_path, mode, encoding=encoding) as file:
            yield file
        if is_regular:
            os.replace(written_path, final_path)
    except OSError as error:
        # People know the file by its own name, and a write that fails has none.
        if error.filename in (None, written_path):
            error.filename = path
        raise
    finally:
        if is_regular and os.path.exists(written_path):
            os.remove(written_path)


def write_atomically(path: str, text: str) -> None:
    """Writes a text file that is either whole or not there, whatever happens meanwhile."""
    with open_atomically(path) as file:
        file.write(text)


def chunks_of_file(lines: Iterable[bytes], max_lines: int, max_bytes: int) -> Iterator[List[bytes]]:
    """A chunk ends with the line that reaches one of the limits."""
    chunk: List[bytes] = []
    num_bytes = 0
    for line in lines:
        chunk.append(line)
        num_bytes += len(line)
        if len(chunk) >= max_lines or num_bytes >= max_bytes:
            yield chunk
            chunk, num_bytes = [], 0
    if chunk:
        yield chunk


def chunks_of_stream(stream: BinaryIO, max_lines: int, max_bytes: int) -> Iterator[List[bytes]]:
    """
    For standard input, which may be a pipe that never ends: lines that have come are not kept waiting
    for lines that may come later.
    """
    chunk: List[bytes] = []
    num_bytes = 0
    # The parts of a line of which the end has not come yet.
    unfinished: List[bytes] = []
    # `read1` waits for one byte, and takes what is there.
    while data := stream.read1(_BYTES_PER_READ):  # type: ignore[attr-defined]
        *line_ends, rest = data.split(b"\n")
        for line_end in line_ends:
            chunk.append(b"".join([*unfinished, line_end]))
            unfinished = []
        if rest:
            unfinished.append(rest)
        num_bytes += len(data)
        is_full = len(chunk) >= max_lines or num_bytes >= max_bytes
        if chunk and (is_full or not _has_more(stream)):
            yield chunk
            chunk, num_bytes = [], 0
    if unfinished:
        chunk.append(b"".join(unfinished))
    if chunk:
        yield chunk


def _has_more(stream: BinaryIO) -> bool:
    try:
        return bool(select.select([stream], [], [], _PATIENCE)[0])
    except (OSError, ValueError):
        # It is no file of the operating system, or one that cannot be asked.
        return False


def read_json(text: str, object_pairs_hook: Optional[PairsHook] = None) -> Any:
    """
    What JSON text holds. Python also takes NaN and Infinity, and makes Infinity of `1e999`; as nothing
    else can read them, they are a `ValueError` here. For the hook see `json.loads`.
    """
    return json.loads(
        text,
        parse_constant=_refuse,
        parse_float=_read_number,
        object_pairs_hook=object_pairs_hook,
    )


def find_half_character(text: str) -> Optional[int]:
    """Where text that came from JSON has half of a character (a lone surrogate), and so is none."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return error.start
    return None


def _refuse(text: str) -> None:
    raise ValueError(f"there are no numbers like {text:.20}")


def _read_number(text: str) -> float:
    number = float(text)
    if abs(number) == float("inf"):
        _refuse(text)
    return number

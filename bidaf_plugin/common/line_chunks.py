"""
Lines in chunks of bounded size, for work that is faster on many lines at once.
"""

import select
from typing import BinaryIO, Iterable, Iterator, List

# A stream that is silent for this many seconds is not waited for.
_PATIENCE = 0.05
_BYTES_PER_READ = 1 << 16


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

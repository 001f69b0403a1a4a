import os
from contextlib import contextmanager
from typing import IO, Any, Iterator
from uuid import uuid4


@contextmanager
def open_atomically(path: str, mode: str = "w") -> Iterator[IO[Any]]:
    """
    A file to write, which is either whole or not there, whatever happens meanwhile. A link stays a
    link; a pipe or a device is written to as it is.
    """
    encoding = None if "b" in mode else "utf-8"
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, mode, encoding=encoding) as file:
            yield file
        return
    path = os.path.realpath(path)
    temporary_path = f"{path}.{uuid4().hex}.tmp"
    try:
        with open(temporary_path, mode, encoding=encoding) as file:
            yield file
        os.replace(temporary_path, path)
    finally:
        if os.path.exists(temporary_path):
            os.remove(temporary_path)


def write_atomically(path: str, text: str) -> None:
    """Writes a text file that is either whole or not there, whatever happens meanwhile."""
    with open_atomically(path) as file:
        file.write(text)

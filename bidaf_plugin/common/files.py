import os
from contextlib import contextmanager
from typing import IO, Any, Iterator
from uuid import uuid4


@contextmanager
def open_atomically(path: str, mode: str = "w") -> Iterator[IO[Any]]:
    """A file to write, which is either whole or not there, whatever happens meanwhile."""
    temporary_path = f"{path}.{uuid4().hex}.tmp"
    try:
        with open(temporary_path, mode, encoding=None if "b" in mode else "utf-8") as file:
            yield file
        os.replace(temporary_path, path)
    finally:
        if os.path.exists(temporary_path):
            os.remove(temporary_path)


def write_atomically(path: str, text: str) -> None:
    """Writes a text file that is either whole or not there, whatever happens meanwhile."""
    with open_atomically(path) as file:
        file.write(text)

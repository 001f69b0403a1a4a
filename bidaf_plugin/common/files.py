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

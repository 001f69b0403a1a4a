import fcntl
import os
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import Iterator, Optional, Union

from bidaf_plugin.common.errors import DataError

# What a disk needs to have free, at the least.
_NUM_BYTES = 4096


def check_folder(path: Optional[str]) -> None:
    """To be called before the work whose results go to a folder, which need not be there yet."""
    if path is None:
        return
    existing = path
    while not os.path.exists(existing):
        existing = os.path.dirname(existing) or "."
    if not os.path.isdir(existing):
        raise DataError(f"{existing}: this is a file, not a folder")
    _write_something(existing, path)


def check_can_be_written(path: Union[str, "os.PathLike[str]"]) -> None:
    """The same for a file, whose folder must be there. Of a pipe or a device only a write can tell."""
    if os.path.isdir(path):
        raise DataError(f"{path}: this is a folder, not a file")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise DataError(f"{path}: there is no such folder")
    if os.path.isfile(path) or not os.path.exists(path):
        _write_something(folder, path)


@contextmanager
def used_alone(path: str) -> Iterator[None]:
    """
    While this lasts, no other process works on this folder, on this machine or on another that has it; if one
    does, that is a `DataError`. The lock ends with the process, however that ends.
    """
    lock_path = f"{path.rstrip(os.sep)}.lock"
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        descriptor = os.open(lock_path, os.O_WRONLY | os.O_CREAT, 0o666)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from error
    with os.fdopen(descriptor, "w") as file:
        try:
            # Of POSIX: processes that are forked from this one do not keep it.
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(file.fileno()), os.stat(lock_path)):
                raise BlockingIOError
        except (BlockingIOError, FileNotFoundError):
            # The second, where the file went with another process, and one more has a new one.
            raise DataError(
                f"{path}: another process is at work on it; wait until it has ended"
            ) from None
        try:
            yield
        finally:
            os.remove(lock_path)


def _write_something(folder: str, path: Union[str, "os.PathLike[str]"]) -> None:
    """Says so if `path` cannot be written because `folder` is read-only or its disk is full."""
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(bytes(_NUM_BYTES))
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from error

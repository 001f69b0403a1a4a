"""
What people see when their input is at fault: one sentence and exit code 1, without a traceback.
"""

import os
import sys
from types import TracebackType
from typing import Optional, Type

from allennlp.common.checks import ConfigurationError


class DataError(ConfigurationError):
    """
    A data file, a JSON line or an archive that cannot be used. The message names the place (file,
    article, paragraph, question id or line) and says what was expected there.
    """


def _one_sentence(error: BaseException) -> Optional[str]:
    """What to tell the user about `error`, or None where the fault may be ours."""
    if isinstance(error, ConfigurationError):
        return str(error).strip()
    if isinstance(error, FileNotFoundError):
        return f"file not found: {error.filename or error}"
    if isinstance(error, (IsADirectoryError, PermissionError)):
        return f"cannot read {error.filename}: {error.strerror}"
    # torch wraps what a worker of a distributed run raises into the text of another exception.
    if type(error).__name__ == "ProcessRaisedException":
        last_line = str(error).strip().splitlines()[-1]
        name, _, message = last_line.partition(": ")
        if name in (_full_name(DataError), _full_name(ConfigurationError)):
            return message
    return None


def _full_name(error_class: Type[BaseException]) -> str:
    return f"{error_class.__module__}.{error_class.__qualname__}"


def install_error_messages() -> None:
    """
    Makes the `allennlp` command end with one sentence, instead of a traceback, where the user's
    input is at fault. Every other exception is shown as before, and with `ALLENNLP_DEBUG=1` in the
    environment the traceback is always shown.
    """
    if getattr(sys.excepthook, "shows_one_sentence", False):
        return
    previous_hook = sys.excepthook

    def show(
        error_class: Type[BaseException],
        error: BaseException,
        traceback: Optional[TracebackType],
    ) -> None:
        message = None if os.environ.get("ALLENNLP_DEBUG") else _one_sentence(error)
        if message is None:
            previous_hook(error_class, error, traceback)
        else:
            print(f"Error: {message}", file=sys.stderr)

    show.shows_one_sentence = True  # type: ignore[attr-defined]
    sys.excepthook = show

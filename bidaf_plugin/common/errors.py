"""
What people see when their input is at fault: one sentence and exit code 1, without a traceback.
"""

import errno
import gzip
import json
import multiprocessing
import os
import pickle
import re
import signal
import sys
import tarfile
import zlib
from traceback import walk_tb
from types import TracebackType
from typing import Any, Optional, Set, Type

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import SigTermReceived

from allennlp_stand_ins import INSTALL_NAMES
from bidaf_plugin.common.files import find_half_character

# What Python's readers raise where a compressed file or an archive is truncated or damaged.
DAMAGES = (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile)

_NO_GPU = re.compile(r"Cannot access accelerator device|Torch not compiled with CUDA")
# What gloo and torch's store say of another process.
_LOST_PROCESS = re.compile(r"Connection (was likely )?(closed|reset)|Broken pipe|No route to host")
_NO_FIRST_HOST = re.compile(r"client socket has (?:failed to connect|timed out).*?\((\S+), (\d+)\)")
_SILENT_PROCESS = re.compile(r"[Tt]imed out (after|waiting)|(wait|Connect) timeout")
_JSONNET_ERROR = re.compile(r"(STATIC|RUNTIME) ERROR")
_UNKNOWN_ARGUMENT = re.compile(r"(\w+)\.__init__\(\) got an unexpected keyword argument ('\w+')")
_NO_MEMORY = re.compile(r"can't allocate memory|not enough memory")
_CANNOT_WRITE = (errno.EDQUOT, errno.EFBIG, errno.ENOSPC, errno.EROFS)
_WRONG_PATHS = (
    FileExistsError,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)


class DataError(ConfigurationError):
    """
    A data file, a JSON line or an archive that cannot be used. The message names the place (file,
    article, paragraph, question id or line) and says what was expected there.
    """


def check_is_text(text: str, place: str) -> None:
    """JSON can hold halves of characters (lone surrogates), which are not text."""
    half = find_half_character(text)
    if half is not None:
        raise DataError(f"{place}: half a character (a lone surrogate) at {half}")


def one_sentence(error: BaseException) -> Optional[str]:
    """What to tell the user about `error`, or None where the fault may be ours."""
    if isinstance(error, ConfigurationError):
        return str(error).strip()
    if isinstance(error, ModuleNotFoundError) and error.name in INSTALL_NAMES:
        return f"{error.name} is not installed: pip install '{INSTALL_NAMES[error.name]}'"
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, _WRONG_PATHS):
        return str(error)
    if isinstance(error, OSError) and error.errno in _CANNOT_WRITE:
        place = _find_local(error, "train_model", "serialization_dir")
        return f"{place}: {error.strerror}" if place else error.strerror
    if isinstance(error, DAMAGES):
        archive = _find_local(error, "load_archive", "archive_file")
        return archive and f"{archive}: the archive is truncated or damaged ({error})"
    if isinstance(error, pickle.UnpicklingError):
        archive = _find_local(error, "load_archive", "archive_file")
        return archive and f"{archive}: its weights hold more than tensors"
    if isinstance(error, TypeError) and _came_through(error, "from_archive"):
        return f"in the arguments of the predictor: {_reason(error)}"
    if isinstance(error, (ValueError, KeyError)) and _came_through(error, "with_overrides"):
        return f"in the overrides: {error}"
    if isinstance(error, OSError) and type(error).__module__.startswith("requests"):
        return f"cannot download: {error}"
    if isinstance(error, json.JSONDecodeError) and _came_through(error, "_get_predictor"):
        return f"the predictor's arguments are not JSON: {error}"
    # Errors in jsonnet: the first line has the message, what follows is jsonnet's own traceback.
    if isinstance(error, RuntimeError) and _JSONNET_ERROR.match(str(error)):
        place = "in the overrides" if _came_through(error, "parse_overrides") else "in the config"
        return f"{place}: {str(error).splitlines()[0].partition('ERROR: ')[2]}"
    if isinstance(error, (RuntimeError, AssertionError)) and _NO_GPU.search(str(error)):
        return "there is no GPU on this machine; cuda_device -1 is the CPU"
    if isinstance(error, MemoryError) or _NO_MEMORY.search(str(error)):
        return f"there is not enough memory: {_reason(error)}"
    # The others may notice it before torch does.
    has_raised = type(error).__name__ == "ProcessRaisedException"
    no_host = has_raised and _NO_FIRST_HOST.search(str(error))
    if no_host:
        return (
            f"nobody answers at {no_host[1]}:{no_host[2]}, which the config names as primary_address and "
            "primary_port of distributed training"
        )
    is_lost = has_raised and _LOST_PROCESS.search(str(error))
    is_silent = has_raised and _SILENT_PROCESS.search(str(error))
    if is_lost or is_silent or type(error).__name__ == "ProcessExitedException":
        how = "it does not answer" if is_silent else str(error)
        how = "it has closed its connection" if is_lost else how
        return (
            f"a process of distributed training has died ({how}), maybe because there "
            "was too little memory; --recover goes on from the last checkpoint"
        )
    # torch wraps what a process of a distributed run raises into the text of another exception, and
    # AllenNLP does so with what a worker of a data loader raises.
    if type(error).__name__ in ("ProcessRaisedException", "WorkerError"):
        return _sentence_in_traceback(str(error))
    if isinstance(error, ValueError) and str(error).startswith("batch_sampler option is mutually"):
        return (
            "the data loader has a batch_sampler, which makes the batches: instead of --batch-size, "
            "override its own, like validation_data_loader.batch_sampler.batch_size"
        )
    return _sentence_on_config(error)


def _sentence_on_config(error: BaseException) -> Optional[str]:
    """For what was raised while the config was read, or while what it describes was being made."""
    if _came_through(error, "prepare_environment"):
        return (
            "in the config: random_seed, numpy_seed and pytorch_seed must be whole numbers "
            f"({_reason(error)})"
        )
    # A data loader reads the data as soon as it is made, and that is another matter.
    if not _came_through(error, "from_params") or _came_through(error, "_read"):
        return None
    place = ""
    for frame, _ in walk_tb(error.__traceback__):
        if frame.f_code.co_name == "from_params":
            # "model.contextual_layer."
            place = getattr(frame.f_locals["params"], "history", place)
        elif frame.f_code.co_name == "pop_and_construct_arg":
            place = frame.f_locals["params"].history + frame.f_locals["argument_name"]
    where = f"{place.rstrip('.')}: " if place else ""
    # It may also be a fault of a class of one's own.
    hint = "" if isinstance(error, (TypeError, ValueError)) else " (ALLENNLP_DEBUG=1 shows where)"
    return f"in the config: {where}{_reason(error)}{hint}"


def _reason(error: BaseException) -> str:
    unknown = _UNKNOWN_ARGUMENT.search(str(error))
    if unknown:
        return f"{unknown[1]} has no {unknown[2]}"
    # torch tells in more lines where in its own sources that was.
    message = str(error).strip().partition("\n")[0]
    # Python's own messages mean little without it: the text of a KeyError is the key.
    return (
        message
        if isinstance(error, (TypeError, ValueError))
        else f"{type(error).__name__}: {message}"
    )


def _sentence_in_traceback(text: str) -> Optional[str]:
    """The message that a printed traceback ends with, if it is one for users."""
    names = _full_names(ConfigurationError) | {"OSError", *(path.__name__ for path in _WRONG_PATHS)}
    lines = [line.strip() for line in text.strip().splitlines()]
    for number in reversed(range(len(lines))):
        name, colon, message = lines[number].partition(": ")
        if colon and name in names:
            # A message may have several lines.
            return "\n".join([message, *lines[number + 1 :]])
        if lines[number].startswith('File "'):
            # What stands below is another error's.
            break
    return None


def _find_local(error: BaseException, function: str, name: str) -> Optional[Any]:
    """The value of a local variable of a function that the error came through, if it did."""
    for frame, _ in walk_tb(error.__traceback__):
        if frame.f_code.co_name == function:
            return frame.f_locals.get(name)
    return None


def _came_through(error: BaseException, *functions: str) -> bool:
    return any(frame.f_code.co_name in functions for frame, _ in walk_tb(error.__traceback__))


def _full_names(error_class: Type[BaseException]) -> Set[str]:
    """The names of a class and of all that are derived from it."""
    names = {f"{error_class.__module__}.{error_class.__qualname__}"}
    return names.union(*map(_full_names, error_class.__subclasses__()))


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
        is_debugging = bool(os.environ.get("ALLENNLP_DEBUG"))
        message = None if is_debugging else one_sentence(error)
        if isinstance(error, KeyboardInterrupt) and not is_debugging:
            # On a line of its own: progress bars leave theirs unfinished.
            print("\nInterrupted", file=sys.stderr)
        elif isinstance(error, SigTermReceived) and not is_debugging:
            print("\nStopped", file=sys.stderr)
            # Python waits for the processes of distributed training, which know nothing of the signal.
            for process in multiprocessing.active_children():
                process.terminate()
            raise SystemExit(128 + signal.SIGTERM)
        elif message is None:
            previous_hook(error_class, error, traceback)
        else:
            print(f"Error: {message}", file=sys.stderr)

    show.shows_one_sentence = True  # type: ignore[attr-defined]
    sys.excepthook = show

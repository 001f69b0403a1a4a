"""
Runs targets on damaged inputs and counts how they end. Input number N of a target is always the same for
the same seed, whatever was run before it.
"""

import faulthandler
import io
import logging
import re
import resource
import shutil
import signal
import sys
import time
import warnings
from collections import Counter
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from typing import Any, Callable, Dict, Iterator, NamedTuple, Tuple

from tests.fuzz.targets import ServerFailed, Target, TooLong

# How an input may end. Those of the second line are failures.
FINE, SENTENCE = "fine", "sentences"
TRACEBACK, HANG, SERVER_ERROR = FAILURES = ("tracebacks", "hangs", "5xx")

# Far more than any input of these sizes needs. What counts is the time of the processor: that of the
# clock depends on what else runs, and is there for those who wait.
_PROCESSOR_SECONDS, _CLOCK_SECONDS, _SECONDS_TO_THE_END = 5, 60, 120
_MEMORY = 4 * 1024**3


class Failure(NamedTuple):
    """How to run it again: `python -m tests.fuzz --seed SEED --target TARGET --number NUMBER`."""

    target: str
    seed: int
    number: int
    ending: str
    shown: str


def run_target(
    name: str, target: Target, seed: int, folder: Path, goes_on: Callable[[int], bool]
) -> Tuple["Counter[str]", Dict[int, Failure]]:
    """How often inputs 0, 1, ... ended how, and the failures by number, as long as `goes_on(number)`."""
    endings: Counter[str] = Counter()
    failures = {}
    number = 0
    with _limited_memory():
        while goes_on(number):
            ending, shown = run_input(name, target, seed, number, folder)
            endings[ending] += 1
            if ending in FAILURES:
                failures[number] = Failure(name, seed, number, ending, shown)
            number += 1
    return endings, failures


def run_input(name: str, target: Target, seed: int, number: int, folder: Path) -> Tuple[str, str]:
    """How one input ended, and what its user saw."""
    folder = folder / "input"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with quietly() as output:
        try:
            with _limited_time():
                target(Random(f"{name} {seed} {number}"), folder)
            ending = FINE
        except TooLong as error:
            ending = HANG
            sys.__excepthook__(TooLong, error, error.__traceback__)
        except SystemExit as error:
            ending = SENTENCE if error.code else FINE
        except ServerFailed as error:
            ending = SERVER_ERROR
            print(error)
        except Exception as error:
            # The very function that decides what users see.
            start = output.tell()
            sys.excepthook(type(error), error, error.__traceback__)
            is_sentence = re.fullmatch(r"Error: \S.*", output.getvalue()[start:].strip(), re.DOTALL)
            ending = SENTENCE if is_sentence else TRACEBACK
    shown = output.getvalue()
    return (TRACEBACK if "Traceback (most" in shown and ending != HANG else ending), shown


@contextmanager
def _limited_time() -> Iterator[None]:
    def stop(signal_number: int, frame: Any) -> None:
        raise TooLong("this takes too long")

    timers = {
        (signal.SIGPROF, signal.ITIMER_PROF): _PROCESSOR_SECONDS,
        (signal.SIGALRM, signal.ITIMER_REAL): _CLOCK_SECONDS,
    }
    previous = {number: signal.signal(number, stop) for number, _ in timers}
    for (_, timer), seconds in timers.items():
        signal.setitimer(timer, seconds)
    # For what never comes back to Python: the process ends. The input is still in its folder then.
    faulthandler.dump_traceback_later(_SECONDS_TO_THE_END, exit=True, file=sys.__stderr__ or 2)
    try:
        yield
    finally:
        for number, timer in timers:
            signal.setitimer(timer, 0)
            signal.signal(number, previous[number])
        faulthandler.cancel_dump_traceback_later()


@contextmanager
def _limited_memory() -> Iterator[None]:
    """What asks for too much gets an error, and does not take the machine down."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextmanager
def quietly() -> Iterator[io.StringIO]:
    """
    What would be shown. `allennlp train` sets up logging for the rest of its process, and a hook for what
    goes wrong: both are as before in the end.
    """
    root = logging.getLogger()
    handlers, level, hook = list(root.handlers), root.level, sys.excepthook
    output = io.StringIO()
    try:
        with warnings.catch_warnings(), redirect_stdout(output), redirect_stderr(output):
            warnings.simplefilter("ignore")
            yield output
    finally:
        for handler in root.handlers:
            if handler not in handlers:
                handler.close()
        root.handlers[:] = handlers
        root.setLevel(level)
        sys.excepthook = hook


def seconds_from_now(seconds: float) -> Callable[[int], bool]:
    """For `run_target`: as long as the time lasts."""
    end = time.monotonic() + seconds
    return lambda number: time.monotonic() < end

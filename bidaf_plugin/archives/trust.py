"""
Whether archives may do what they like, because the user says that they are of somebody to be trusted.
"""

import argparse
import os
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Callable, Iterator

# AllenNLP's own commands read their arguments before they import plugins, and so cannot have an option of ours.
VARIABLE = "BIDAF_TRUST"
HOW_TO_TRUST = (
    "if you trust whoever made it, say so: --trust, or trust=True in Python, or for AllenNLP's own commands "
    f"{VARIABLE}=1 in the environment"
)
_is_trusted: ContextVar[bool] = ContextVar("is_trusted", default=False)


def is_trusted() -> bool:
    """Whether this runs within `trusting(True)`, or in an environment that says so."""
    return _is_trusted.get() or os.environ.get(VARIABLE) == "1"


@contextmanager
def trusting(trust: bool) -> Iterator[None]:
    """If `trust`, archives and their members are loaded as AllenNLP does, while this lasts."""
    token = _is_trusted.set(trust or _is_trusted.get())
    try:
        yield
    finally:
        _is_trusted.reset(token)


def add_trust_option(parser: argparse.ArgumentParser) -> None:
    """For commands that take archives."""
    parser.add_argument(
        "--trust",
        action="store_true",
        help="the model is yours, or of somebody whose code you would run: its config may "
        "name any class",
    )


def run_trusting(run: Callable[[argparse.Namespace], Any], args: argparse.Namespace) -> Any:
    """Runs a command, within `trusting` if its arguments have `trust`."""
    with trusting(getattr(args, "trust", False)):
        return run(args)

"""
What comes back from a worker. An exception would lose, on its way, where it came from, by which is known what to
tell the user.
"""

import socket
from typing import Any, Callable, NamedTuple, Optional

from bidaf_plugin.common.errors import DataError, one_sentence

# How often something is tried that may be a matter of the machine.
MAX_ATTEMPTS = 3


class Outcome(NamedTuple):
    """
    value : `Any`
        If all went well.
    fault : `str`
        One sentence, if it did not.
    can_be_tried_again : `bool`
        Whether it may be a matter of the machine, such as a full disk, and not of what was to be done.
    """

    value: Any = None
    fault: Optional[str] = None
    can_be_tried_again: bool = False


def outcome_of(function: Callable[..., Any], *args: Any) -> Outcome:
    """Calls the function, on a worker."""
    try:
        return Outcome(function(*args))
    except DataError as error:
        return Outcome(None, str(error))
    except Exception as error:
        sentence = one_sentence(error) or f"{type(error).__name__}: {error}".partition("\n")[0]
        return Outcome(None, f"{sentence} (on {socket.gethostname()})", True)


def result_of(ray: Any, reference: Any) -> Outcome:
    """What a worker has returned, or that it could not."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        return Outcome(None, str(error).strip().splitlines()[-1], True)
    except ray.exceptions.RayError as error:
        reason = "" if _is_death(error) else f" ({type(error).__name__})"
        return Outcome(None, f"its worker died{reason}", True)


def _is_death(error: Exception) -> bool:
    return type(error).__name__ in ("ActorDiedError", "ActorUnavailableError", "WorkerCrashedError")

import gc
from contextlib import contextmanager
from typing import Iterator


@contextmanager
def paused_garbage_collection() -> Iterator[None]:
    """
    For code that makes very many objects that stay: Python would look through all of them again and
    again for garbage, which takes longer than making them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()

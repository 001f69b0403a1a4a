import ctypes
import os
import sys

# From glibc's malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_MAX = -4


def keep_freed_memory() -> bool:
    """
    Lets the process keep the memory of tensors that are freed, for the tensors of the next batch.

    By default glibc gives large blocks back to the system at once and asks for new ones, which the
    system fills with zeros page by page as they are touched: about a fifth of a training step on the
    CPU. This is process-wide, so it is left alone where a user has set one of glibc's own variables
    (`MALLOC_..._`), and elsewhere than on Linux with glibc.

    # Returns

    `bool`
        Whether it is so now.
    """
    if sys.platform != "linux" or any(name.startswith("MALLOC_") for name in os.environ):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(_M_MMAP_MAX, 0) and mallopt(_M_TRIM_THRESHOLD, 2**31 - 1))

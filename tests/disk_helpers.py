"""
Places where nothing can be written, for whoever runs the tests: permissions mean nothing to root.
"""

import resource
from contextlib import contextmanager
from typing import Iterator

# No file can be made there.
READ_ONLY = "/sys"


@contextmanager
def nearly_full_disk(num_bytes: int) -> Iterator[None]:
    """While it lasts, writes behind the first `num_bytes` of a file fail, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

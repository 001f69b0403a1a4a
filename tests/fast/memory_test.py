import os
import platform
import subprocess
import sys

import pytest

# How many pages must be fetched to fill 64 MB again and again, at least.
_PROGRAM = """
import resource, bidaf_plugin, torch

def count():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(16_000_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(min(count() for _ in range(10)))
"""


def count_page_faults(**choices: str) -> int:
    output = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env={**os.environ, **choices},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(output.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs the GNU C library")
def test_freed_memory_is_kept_unless_the_user_says_otherwise() -> None:
    assert count_page_faults() < 100
    assert count_page_faults(MALLOC_TRIM_THRESHOLD_="131072") > 1000

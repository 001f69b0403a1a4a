import os
import subprocess
import sys
from pathlib import Path

import pytest

_CHOICE = Path("/sys/kernel/mm/transparent_hugepage/enabled")
# How many pages must be fetched to fill 64 MB.
_PROGRAM = """
import resource, sys, bidaf_plugin, torch
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
torch.ones(16_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def count_page_faults(choice: str) -> int:
    environment = {**os.environ, "THP_MEM_ALLOC_ENABLE": choice}
    if not choice:
        del environment["THP_MEM_ALLOC_ENABLE"]
    output = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(output.stdout)


@pytest.mark.skipif(
    not _CHOICE.is_file() or "[madvise]" not in _CHOICE.read_text(),
    reason="needs a system whose programs may choose huge pages",
)
def test_large_tensors_are_on_huge_pages_unless_the_user_says_no() -> None:
    assert count_page_faults("") < count_page_faults("0") / 10

import subprocess
import sys

import pytest

# How many pages must be fetched to fill 64 MB twenty times.
_PROGRAM = """
import resource, sys, torch
from bidaf_plugin.common.memory import keep_freed_memory
if sys.argv[1] == "keep":
    assert keep_freed_memory()
torch.zeros(16_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    torch.ones(16_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def count_page_faults(choice: str) -> int:
    # Not through the package, whose import would already have set it.
    program = _PROGRAM.replace("from bidaf_plugin.common.memory import", "from memory import")
    return int(
        subprocess.run(
            [sys.executable, "-c", program, choice],
            cwd="bidaf_plugin/common",
            env={"PATH": "", "PYTHONPATH": "."},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_freed_memory_is_used_again() -> None:
    assert count_page_faults("keep") < count_page_faults("default") / 2

import re

import pytest

from benchmarks.agreement import main


def test_the_fast_and_the_plain_path_agree(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--steps", "3"]) == 0
    printed = capsys.readouterr().out
    difference = re.search(r"loss in 3 steps: (\S+)", printed)
    assert difference is not None and float(difference.group(1)) < 1e-4
    assert re.search(r"answers that differ: 0 of \d\d\d", printed)

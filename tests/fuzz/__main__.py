"""
`make fuzz`: all targets in turn, for as long as is wanted. The exit code is not 0 if anything ends in a
traceback, takes too long, or makes the server fail.
"""

import argparse
import os
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import List

# Before AllenNLP is imported, which looks at it.
os.environ.setdefault("ALLENNLP_LOG_LEVEL", "CRITICAL")

from bidaf_plugin.analysis.formats import align_columns
from tests.fuzz.runner import (
    FAILURES,
    FINE,
    SENTENCE,
    Failure,
    quietly,
    run_input,
    run_target,
    seconds_from_now,
)
from tests.fuzz.targets import open_targets

_COLUMNS = (SENTENCE, FINE, *FAILURES)
_SHOWN_CHARACTERS = 3_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="for all targets together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", action="append", help="only this one")
    parser.add_argument("--number", type=int, help="only this input of it, and what it shows")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        with quietly():
            targets = stack.enter_context(open_targets(folder))
        chosen = options.target or list(targets)
        if options.number is not None:
            (target,) = chosen
            print(*run_input(target, targets[target], options.seed, options.number, folder))
            return 0
        rows = [["target", "inputs", *_COLUMNS]]
        total: Counter[str] = Counter()
        failures: List[Failure] = []
        for target in chosen:
            goes_on = seconds_from_now(options.seconds / len(chosen))
            endings, failed = run_target(target, targets[target], options.seed, folder, goes_on)
            rows.append(_row(target, endings))
            print(align_columns([rows[0], rows[-1]]), flush=True)
            total += endings
            failures += failed.values()
        rows.append(_row("in all", total))
    for failure in failures:
        shown = failure.shown[-_SHOWN_CHARACTERS:].strip()
        print(f"\n{failure.ending}: --seed {failure.seed} --target '{failure.target}' ", end="")
        print(f"--number {failure.number}\n{shown}")
    print(f"\nseed {options.seed}\n{align_columns(rows)}")
    return 1 if failures else 0


def _row(target: str, endings: "Counter[str]") -> List[str]:
    return [target, *(f"{n:,}" for n in (endings.total(), *(endings[c] for c in _COLUMNS)))]


if __name__ == "__main__":
    sys.exit(main())

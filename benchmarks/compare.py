"""
Compares ours with the BiDAF of allennlp-models: `make bench`, or `python -m benchmarks.compare --help`.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import List, Optional

from benchmarks.findings import Findings
from benchmarks.machine import describe_machine
from benchmarks.measures import MEASURES, Plan
from benchmarks.measures.plan import say
from benchmarks.report import format_table, versions, write_results
from benchmarks.systems import BENCHMARKS, OURS, PEER, BenchmarkError, is_peer_installed
from benchmarks.workspace import Workspace

RESULTS = BENCHMARKS / "results"


def parse_arguments(arguments: Optional[List[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a smoke run: a tiny model on the sample in fixtures/, allennlp-models only if installed",
    )
    parser.add_argument(
        "--only",
        default="",
        metavar="NAMES",
        help="the measures to run, with commas between them: some of "
        f"{','.join(MEASURES)} (default = all; quick: all but startup)",
    )
    parser.add_argument("--rounds", type=int, help="repetitions (default = 5; quick: 1)")
    parser.add_argument("--questions", type=int, help="use only so many questions of each data set")
    parser.add_argument(
        "--threads",
        type=int,
        default=int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)),
        help="threads of the process whose turn it is (default = OMP_NUM_THREADS, or all cores)",
    )
    parser.add_argument("--ours-only", action="store_true", help="leave allennlp-models out")
    parser.add_argument(
        "--output",
        type=Path,
        help="the JSON file (default = benchmarks/results/comparison.json for a whole run, "
        "partial.json or quick.json beside it otherwise)",
    )
    parsed = parser.parse_args(arguments)
    default = [name for name in MEASURES if name != "startup" or not parsed.quick]
    parsed.only = [name for name in parsed.only.split(",") if name] or default
    unknown = [name for name in parsed.only if name not in MEASURES]
    if unknown:
        parser.error(f"--only: expected some of {', '.join(MEASURES)}, found {', '.join(unknown)}")
    for name in ("rounds", "questions", "threads"):
        value = getattr(parsed, name)
        if value is not None and value < 1:
            parser.error(f"--{name}: expected 1 or more, found {value}")
    return parsed


def make_plan(options: argparse.Namespace) -> Plan:
    with_peer = not options.ours_only and is_peer_installed()
    if not with_peer and not options.ours_only and not options.quick:
        raise BenchmarkError("allennlp-models is not in benchmarks/.peer: run `make bench`")
    systems = [OURS, PEER] if with_peer else [OURS]
    if options.quick:
        return Plan(systems, options.rounds or 1, 20, 2, [10, 20], 200, 100, 40)
    return Plan(
        systems=systems,
        rounds=options.rounds or 5,
        batch_size=60,
        num_batches=3,
        evaluation_batch_sizes=[30, 60, 120],
        num_lines=2000,
        num_read_by_peer=6000,
        memory_words=130,  # about 150 tokens
    )


def output_path(options: argparse.Namespace) -> Path:
    if options.output is not None:
        return options.output
    if options.quick:
        return RESULTS / "quick.json"
    is_whole = options.only == list(MEASURES) and not options.questions and not options.ours_only
    return RESULTS / ("comparison.json" if is_whole else "partial.json")


def measure_all(options: argparse.Namespace, findings: Findings) -> None:
    plan = make_plan(options)
    findings.facts["machine"] = describe_machine(options.threads)
    findings.facts["versions"] = versions()
    findings.facts["date"] = time.strftime("%Y-%m-%d")
    findings.facts["settings"] = {
        "quick": options.quick,
        "rounds": plan.rounds,
        "questions": options.questions,
        "batch_size": plan.batch_size,
    }
    with Workspace(options.quick, options.threads, options.questions) as workspace:
        for name, measure in MEASURES.items():
            if name in options.only:
                say(f"{name} ...")
                measure(workspace, plan, findings)


def main(arguments: Optional[List[str]] = None) -> int:
    options = parse_arguments(arguments)
    start = time.perf_counter()
    findings = Findings()
    path = output_path(options)
    try:
        measure_all(options, findings)
    except (BenchmarkError, KeyboardInterrupt) as error:
        print(f"Error: {error or 'interrupted'}", file=sys.stderr)
        if not findings.measurements:
            return 1
        # What was measured before took its time, but must not pass for a whole run.
        findings.facts["error"] = str(error or "interrupted")
        path = path.with_name("partial.json")
    findings.facts["minutes"] = round((time.perf_counter() - start) / 60, 1)
    write_results(path, findings)
    print(format_table(findings))
    say(f"written to {path}, after {findings.facts['minutes']} minutes")
    return 1 if "error" in findings.facts else 0


if __name__ == "__main__":
    sys.exit(main())

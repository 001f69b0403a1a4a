"""
An archive and what `allennlp bidaf export` makes of it, side by side: `python -m benchmarks.exported
ARCHIVE`. Each loads and answers the same questions of SQuAD dev in processes of its own, in turns; the
exported file does it where AllenNLP, spaCy and this package cannot be imported. It fails, with exit code 1,
if any answer differs.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Dict, List, Optional, Tuple

from benchmarks.data import json_lines, list_questions, load_squad
from benchmarks.systems import BENCHMARKS, ROOT, BenchmarkError
from benchmarks.workspace import full_sources, quick_sources

Answers = List[Dict[str, Any]]


def measure(kind: str, path: str, questions: Path) -> Tuple[Dict[str, float], Answers]:
    """The seconds that loading and answering take in a fresh process, and the answers."""
    answers = questions.with_name(f"{kind}.json")
    program = [sys.executable, str(BENCHMARKS / "answer_questions.py")]
    ended = subprocess.run(
        [*program, kind, path, str(questions), str(answers)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    if ended.returncode != 0:
        raise BenchmarkError(f"the {kind} failed:\n{ended.stderr[-2000:]}")
    seconds = json.loads(ended.stdout.splitlines()[-1])
    return seconds, json.loads(answers.read_text(encoding="utf-8"))


def compare(archive: Answers, exported: Answers) -> int:
    """How many answers differ."""
    num_different = 0
    largest = 0.0
    for expected, answer in zip(archive, exported, strict=True):
        difference = abs(answer.pop("confidence") - expected.pop("confidence"))
        largest = max(largest, difference)
        # What is left is id, text and spans.
        num_different += answer != expected
    print(
        f"answers that differ: {num_different} of {len(archive)}; largest difference of a "
        f"confidence: {largest:.1e}"
    )
    return num_different


def write_questions(path: Path, dev: Path, number: int) -> int:
    """Questions of SQuAD dev taken at random, as JSON lines; how many there are."""
    squad = load_squad(dev)
    ids = [question.id for question in list_questions(squad)]
    lines = json_lines(squad, Random(0).sample(ids, min(number, len(ids))))
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return len(lines)


def run(archive: str, dev: Path, num_questions: int, num_rounds: int) -> int:
    """Prints what was measured; returns how many answers differ."""
    from bidaf_plugin.export import export_archive

    with TemporaryDirectory() as folder:
        paths = {"archive": archive, "exported": os.path.join(folder, "model.zip")}
        export_archive(archive, paths["exported"])
        questions = Path(folder) / "questions.jsonl"
        num_questions = write_questions(questions, dev, num_questions)
        seconds: Dict[str, List[Dict[str, float]]] = {kind: [] for kind in paths}
        answers: Dict[str, Answers] = {}
        for round_number in range(num_rounds):
            # Who goes first changes from round to round.
            for kind in sorted(paths, reverse=bool(round_number % 2)):
                measured, answers[kind] = measure(kind, paths[kind], questions)
                seconds[kind].append(measured)
        print("| | MB | seconds to import and load | questions/s |\n|---|---:|---:|---:|")
        for kind, path in paths.items():
            load, answer = (median(item[k] for item in seconds[kind]) for k in ("load", "answer"))
            size = os.path.getsize(path) / 1e6
            print(f"| {kind} | {size:.1f} | {load:.2f} | {num_questions / answer:.1f} |")
        return compare(answers["archive"], answers["exported"])


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exported", description=__doc__)
    parser.add_argument("archive", help="the model.tar.gz of a training run")
    parser.add_argument("--questions", type=int, default=500, help="(default = 500)")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each (default = 3)")
    parser.add_argument("--quick", action="store_true", help="questions of the embedded sample")
    options = parser.parse_args(arguments)
    try:
        _, dev, _ = quick_sources() if options.quick else full_sources()
        num_different = run(options.archive, dev, options.questions, options.rounds)
        if num_different:
            raise BenchmarkError(f"{num_different} answers of the exported file differ")
    except BenchmarkError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

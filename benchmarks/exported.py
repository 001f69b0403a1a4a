"""
An archive and what `allennlp bidaf export` makes of it, side by side: `python -m benchmarks.exported
ARCHIVE`. Each loads and answers the same questions of SQuAD dev in processes of its own, in turns, some of them
one by one and all together; the exported files do it where torch, AllenNLP, spaCy and this package cannot be
imported. It fails, with exit code 1, if any answer of the exported file differs, unless several spans are equally
probable, or any confidence by more than 1e-5; that in eight bits may differ, and what that costs is told.
"""

import argparse
import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Dict, List, NamedTuple, Optional, Set

from benchmarks.data import json_lines, list_questions, load_squad
from benchmarks.systems import BENCHMARKS, ROOT, BenchmarkError
from benchmarks.workspace import full_sources, quick_sources

Answers = List[Dict[str, Any]]

# What must be installed beside Python, as pip resolves it.
NEEDED = {"archive": ["bidaf_plugin", "allennlp"], "exported": ["onnxruntime", "numpy"]}
NEEDED["int8"] = NEEDED["exported"]
_TOLERANCE = 1e-5


class Measured(NamedTuple):
    """The seconds that it took to load and to answer, the milliseconds of one question, and the answers."""

    seconds: Dict[str, float]
    single: Answers
    batch: Answers


def measure(kind: str, path: str, questions: Path, num_singles: int) -> Measured:
    """What a fresh process says."""
    answers = questions.with_name(f"{kind}.json")
    program = [sys.executable, str(BENCHMARKS / "answer_questions.py")]
    ended = subprocess.run(
        [*program, kind, path, str(questions), str(answers), str(num_singles)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    if ended.returncode != 0:
        raise BenchmarkError(f"the {kind} failed:\n{ended.stderr[-2000:]}")
    seconds = json.loads(ended.stdout.splitlines()[-1])
    return Measured(seconds, **json.loads(answers.read_text(encoding="utf-8")))


def compare(name: str, archive: Answers, exported: Answers, tolerance: float = _TOLERANCE) -> int:
    """How many answers differ, or have confidences that differ by more than `tolerance`."""
    num_ties = num_different = 0
    largest = 0.0
    for expected, answer in zip(archive, exported, strict=True):
        difference = abs(answer["confidence"] - expected["confidence"])
        largest = max(largest, difference)
        is_same = {**answer, "confidence": None} == {**expected, "confidence": None}
        # As probable, but somewhere else.
        is_tie = not is_same and difference <= _TOLERANCE * expected["confidence"]
        num_ties += is_tie
        num_different += not (is_same or is_tie) or difference > tolerance
    print(
        f"{name}: answers that differ: {num_different} of {len(archive)}, ties: {num_ties}; largest "
        f"difference of a confidence: {largest:.1e}"
    )
    return num_different


def write_questions(path: Path, dev: Path, number: int) -> int:
    """Questions of SQuAD dev taken at random, as JSON lines; how many there are."""
    squad = load_squad(dev)
    ids = [question.id for question in list_questions(squad)]
    lines = json_lines(squad, Random(0).sample(ids, min(number, len(ids))))
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return len(lines)


def installed_megabytes(names: List[str]) -> float:
    """On disk, of these packages and all that they need."""
    to_do, done, size = list(names), set(), 0
    while to_do:
        name = to_do.pop().lower().replace("_", "-")
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        if name not in done:
            done.add(name)
            to_do += _needed(distribution)
            size += sum(
                os.path.getsize(path)
                for file in distribution.files or ()
                if file.suffix != ".pyc" and os.path.isfile(path := str(file.locate()))
            )
    return size / 1e6


def _needed(distribution: metadata.Distribution) -> Set[str]:
    from packaging.requirements import Requirement

    if distribution.metadata["Name"] == "allennlp":
        # It is installed without what it names.
        return set()
    needed = map(Requirement, distribution.requires or ())
    return {
        item.name for item in needed if item.marker is None or item.marker.evaluate({"extra": ""})
    }


def score(dev: Path, answers: Answers) -> str:
    """EM and F1 of the questions that were asked."""
    from bidaf_plugin.analysis.files import questions_of, read_gold_paragraphs
    from bidaf_plugin.analysis.scores import score_questions, summarize

    text_of_id = {answer["id"]: answer["best_span_str"] for answer in answers}
    paragraphs = read_gold_paragraphs(dev)
    questions = [question for question in questions_of(paragraphs) if question.id in text_of_id]
    found = summarize(score_questions(questions, text_of_id))
    return f"{found['exact_match']:.2f} / {found['f1']:.2f}"


def run(archive: str, dev: Path, num_questions: int, num_singles: int, num_rounds: int) -> int:
    """Prints what was measured; returns how many answers differ."""
    from bidaf_plugin.export import export_archive

    with TemporaryDirectory() as folder:
        paths = {"archive": archive}
        for kind in ("exported", "int8"):
            paths[kind] = os.path.join(folder, f"{kind}.zip")
            export_archive(archive, paths[kind], int8=kind == "int8")
        questions = Path(folder) / "questions.jsonl"
        num_questions = write_questions(questions, dev, num_questions)
        found: Dict[str, List[Measured]] = {kind: [] for kind in paths}
        for round_number in range(num_rounds):
            # Who goes first changes from round to round.
            for kind in sorted(paths, reverse=bool(round_number % 2)):
                found[kind].append(measure(kind, paths[kind], questions, num_singles))
        print(
            "| | file, MB | installed beside Python, MB | seconds to import and load | p50, ms | "
            "questions/s | EM / F1 |\n|---|---:|---:|---:|---:|---:|---:|"
        )
        for kind, path in paths.items():
            load, answer, p50 = (
                median(item.seconds[key] for item in found[kind])
                for key in ("load", "answer", "p50")
            )
            print(
                f"| {kind} | {os.path.getsize(path) / 1e6:.1f} | {installed_megabytes(NEEDED[kind]):,.0f} "
                f"| {load:.2f} | {p50:.2f} | {num_questions / answer:.1f} "
                f"| {score(dev, found[kind][-1].batch)} |"
            )
        expected, answers, rounded = (found[kind][-1] for kind in paths)
        compare("int8", expected.batch, rounded.batch, tolerance=1.0)
        single = compare("one by one", expected.batch[:num_singles], answers.single)
        return single + compare("together", expected.batch, answers.batch)


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exported", description=__doc__)
    parser.add_argument("archive", help="the model.tar.gz of a training run")
    parser.add_argument("--questions", type=int, default=500, help="(default = 500)")
    parser.add_argument("--singles", type=int, default=200, help="one by one (default = 200)")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each (default = 3)")
    parser.add_argument("--quick", action="store_true", help="questions of the embedded sample")
    options = parser.parse_args(arguments)
    try:
        _, dev, _ = quick_sources() if options.quick else full_sources()
        num_different = run(
            options.archive, dev, options.questions, options.singles, options.rounds
        )
        if num_different:
            raise BenchmarkError(f"{num_different} answers of the exported file differ")
    except BenchmarkError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

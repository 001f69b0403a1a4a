"""
How time and memory grow: of answering with the length of the passage, and of a training step with the
batch size. `python -m benchmarks.growth` writes a table and a plot to `benchmarks/results/growth.*`.
"""

import argparse
import csv
import io
import json
import os
import sys
from math import log
from pathlib import Path
from random import Random
from statistics import median
from typing import Dict, List, NamedTuple, Optional

from benchmarks.data import bucketed_batches, list_questions, split
from benchmarks.machine import describe_machine
from benchmarks.measures.plan import say
from benchmarks.report import versions, write_whole
from benchmarks.systems import BENCHMARKS, OURS, BenchmarkError
from benchmarks.workspace import Workspace

# The tokenizer makes about so many tokens of a word of SQuAD.
TOKENS_PER_WORD = 1.15
QUESTION = "Who was the first to build it?"
# Passages of this many words are trained on: about 150 tokens.
TRAINING_WORDS = 130
# What is measured, and against what.
SIZES = {"answering": "tokens of the passage", "training": "questions in the batch"}


class Point(NamedTuple):
    """
    # Parameters

    what : `str`
        "answering" or "training".
    size : `int`
        Tokens of the passage, or questions in the batch.
    seconds : `float`
    memory_mib : `float`
        At the peak, above what the process held before.
    """

    what: str
    size: int
    seconds: float
    memory_mib: float


def measure_answering(workspace: Workspace, lengths: List[int], repetitions: int) -> List[Point]:
    """Each length in a fresh process."""
    paragraphs = [p["context"] for article in workspace.dev["data"] for p in article["paragraphs"]]
    Random(0).shuffle(paragraphs)
    words = " ".join(paragraphs).split()
    archive = workspace.archive(OURS)
    points = []
    for length in lengths:
        say(f"answering, about {length} tokens")
        passage = " ".join(words[: round(length / TOKENS_PER_WORD)])
        with workspace.worker(OURS) as worker:
            worker.ask("load", archive=archive)
            # A short one first, so that the code of the kernels is not counted.
            worker.ask("answer", question=QUESTION, passage=" ".join(words[:10]), repetitions=1)
            measured = worker.ask(
                "answer", question=QUESTION, passage=passage, repetitions=repetitions
            )
        seconds = median(measured["seconds"])
        points.append(Point("answering", measured["tokens"], seconds, measured["memory"]))
    return points


def measure_training(workspace: Workspace, batch_sizes: List[int], repetitions: int) -> List[Point]:
    """Each batch size in a fresh process; the smaller batches are the beginnings of the largest."""
    questions = list_questions(workspace.train)
    num_words = {question.id: question.num_words for question in questions}
    largest = min(
        bucketed_batches(questions, max(batch_sizes), Random(0)),
        key=lambda ids: abs(median(num_words[id_] for id_ in ids) - TRAINING_WORDS),
    )
    path = workspace.write_excerpt("growth_batch", workspace.train, largest)
    archive = workspace.archive(OURS)
    points = []
    for batch_size in batch_sizes:
        say(f"training, {batch_size} questions")
        with workspace.worker(OURS) as worker:
            worker.ask("load", archive=archive)
            worker.ask("load_data", path=path)
            worker.ask("set_batches", name="small", batches=[largest[:2]])
            worker.ask("set_batches", name="whole", batches=split(largest, batch_size)[:1])
            worker.ask("train", name="small")
            memory = worker.ask("step_memory", name="whole")
            seconds = median(worker.ask("train", name="whole") for _ in range(repetitions))
        points.append(Point("training", batch_size, seconds, memory))
    return points


def slope(sizes: List[int], values: List[float]) -> float:
    """The exponent by which `values` grow with `sizes`: the slope of a line on logarithmic axes."""
    xs, ys = [log(size) for size in sizes], [log(max(value, 1e-9)) for value in values]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    covariance = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return covariance / sum((x - mean_x) ** 2 for x in xs)


def slopes(points: List[Point]) -> Dict[str, float]:
    """Of time and memory, over all sizes and over the larger half, where fixed costs no longer count."""
    result = {}
    for field in ("seconds", "memory_mib"):
        for name, some in (("all", points), ("larger half", points[len(points) // 2 :])):
            if len(some) > 1:
                sizes = [point.size for point in some]
                result[f"{field}, {name}"] = slope(sizes, [getattr(p, field) for p in some])
    return result


def plot(points: List[Point], path: Path) -> None:
    """Four panels on logarithmic axes, with a line of slope 1 through the largest point of each."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    labels = {"seconds": "seconds", "memory_mib": "MiB at the peak"}
    figure, axes = pyplot.subplots(2, 2, figsize=(10, 8))
    for row, (field, label) in zip(axes, labels.items(), strict=True):
        for axis, (what, size_label) in zip(row, SIZES.items(), strict=True):
            some = [point for point in points if point.what == what]
            sizes = [point.size for point in some]
            values = [getattr(point, field) for point in some]
            axis.loglog(sizes, values, marker="o", label="measured")
            linear = [values[-1] * size / sizes[-1] for size in sizes]
            axis.loglog(sizes, linear, linestyle="--", color="gray", label="linear")
            axis.set(title=what, xlabel=size_label, ylabel=label)
            axis.legend()
    figure.tight_layout()
    for suffix in (".png", ".svg"):
        figure.savefig(path.with_suffix(suffix))
    pyplot.close(figure)


def write_growth(points: List[Point], path: Path, num_threads: int) -> None:
    """The points as CSV, the slopes as JSON, and the plot."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(Point._fields)
    writer.writerows(points)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path.with_suffix(".csv"), table.getvalue())
    exponents = {what: slopes([point for point in points if point.what == what]) for what in SIZES}
    content = {
        "slopes": exponents,
        "machine": describe_machine(num_threads),
        "versions": versions(),
    }
    write_whole(path.with_suffix(".json"), json.dumps(content, indent=2) + "\n")
    plot(points, path)


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run with a tiny model")
    parser.add_argument("--rounds", type=int, default=5, help="repetitions (default = 5)")
    parser.add_argument("--output", type=Path, help="the files to write, without suffix")
    options = parser.parse_args(arguments)
    num_threads = int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1))
    lengths = [50, 100, 200] if options.quick else [100, 300, 1000, 3000, 5000]
    batch_sizes = [4, 8, 16] if options.quick else [8, 15, 30, 60, 120]
    try:
        with Workspace(options.quick, num_threads) as workspace:
            answering = measure_answering(workspace, lengths, options.rounds)
            training = measure_training(workspace, batch_sizes, options.rounds)
    except BenchmarkError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    name = "quick_growth" if options.quick else "growth"
    path = options.output or BENCHMARKS / "results" / name
    write_growth(answering + training, path, num_threads)
    for what, points in (("answering", answering), ("training", training)):
        for point in points:
            print(f"{what} {point.size}: {point.seconds:.3f} s, {point.memory_mib:.0f} MiB")
        for field, value in slopes(points).items():
            print(f"{what}, slope of {field}: {value:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

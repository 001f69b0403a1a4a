"""
What each shortcut of `bidaf_plugin/fast` is worth: `python -m benchmarks.trials`. A training step, evaluation and
single questions are measured with all of them, and with each one left out, in turns, in one process. The table
goes to `benchmarks/results/trials.md`.
"""

import argparse
import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, Dict, List, NamedTuple, Optional, Tuple
from unittest.mock import patch

import torch

from benchmarks.data import bucketed_batches, json_lines, list_questions, spread
from benchmarks.machine import describe_machine
from benchmarks.measures.plan import say
from benchmarks.report import write_whole
from benchmarks.systems import BENCHMARKS, OURS
from benchmarks.worker import Worker
from benchmarks.workspace import Workspace
from bidaf_plugin.fast import bilstm


class Trial(NamedTuple):
    """
    What is left out, and what takes its place.

    # Parameters

    instead : `str`
    patches : `Tuple[Tuple[str, Any], ...]`
        Names below `bidaf_plugin` and what they are replaced by.
    """

    instead: str
    patches: Tuple[Tuple[str, Any], ...]


def _no(*_: Any, **__: Any) -> bool:
    return False


TRIALS: Dict[str, Trial] = {
    "nothing": Trial("all shortcuts", ()),
    "the native LSTM": Trial(
        "torch's, on dropped concatenations that are made and kept",
        (("fast.bilstm.can_run", _no),),
    ),
    "groups": Trial(
        "the whole batch at once, without padding", (("fast.bilstm._WORDS_OF_GROUP", 1 << 40),)
    ),
    "saved products": Trial(
        "without dropout, too, what is the same for several words is multiplied for each",
        (("fast.bilstm._save_products", lambda terms, weight, _: bilstm._Saved(terms, weight)),),
    ),
    "scores": Trial(
        "dropped concatenations that are made and kept", (("modules.dropped_inputs.scores", None),)
    ),
    "distinct words": Trial(
        "every word embedded where it stands, every passage encoded for each of its questions",
        (("fast.distinct_words.embed_once", lambda *_, **__: None),),
    ),
    "packed weights": Trial(
        "weights put in order for each question", (("fast.bilstm._states", lambda _: object()),)
    ),
    "oneDNN": Trial(
        "MKL's products",
        (
            ("fast.products.is_onednn_faster", _no),
            ("fast.bilstm._states", lambda _: object()),
        ),
    ),
    "full precision": Trial(
        "nothing: this adds mixed precision (`use_amp`), which is left to choice",
        (("fast.products._has_mixed_precision", True),),
    ),
}


class Bench:
    """One system with its data, ready to be measured."""

    def __init__(self, workspace: Workspace, num_questions: int) -> None:
        self._worker = Worker(OURS.name, workspace.settings)
        archive = workspace.archive(OURS)
        questions = list_questions(workspace.train)
        batches = spread(bucketed_batches(questions, 60, Random(0)), 3)
        ids = [id for batch in batches for id in batch]
        self._worker.load(archive)
        self._worker.load_data(workspace.write_excerpt("train_batches", workspace.train, ids))
        self._worker.set_batches("train", batches)
        dev_ids = [question.id for question in list_questions(workspace.dev)][:num_questions]
        self._worker.load_data(workspace.write_excerpt("dev_trials", workspace.dev, dev_ids))
        self._worker.load_predictor(archive)
        lines = json_lines(workspace.dev, Random(1).sample(dev_ids, min(100, len(dev_ids))))
        self._records = [json.loads(line) for line in lines]
        self.num_trained, self.num_evaluated = len(ids), len(dev_ids)

    def measure(self) -> List[float]:
        """Examples/s of training and of evaluation, milliseconds of one question."""
        return [
            self.num_trained / self._worker.train("train"),
            self.num_evaluated / self._worker.evaluate(None)["seconds"],
            1000 * median(self._worker.answer_each(self._records)),
        ]


def left_out(trial: Trial) -> ExitStack:
    """Leaves something out, as long as the `with` statement lasts."""
    stack = ExitStack()
    for name, value in trial.patches:
        stack.enter_context(patch(f"bidaf_plugin.{name}", value))
    return stack


def run(bench: Bench, rounds: int) -> Dict[str, List[float]]:
    """The medians of each trial."""
    values: Dict[str, List[List[float]]] = {name: [] for name in TRIALS}
    # Once for nothing: the first call of anything is slow.
    for round_number in range(-1, rounds):
        say(f"round {round_number + 1} of {rounds}")
        for name, trial in TRIALS.items():
            with left_out(trial):
                measured = bench.measure()
            if round_number >= 0:
                values[name].append(measured)
    return {
        name: [median(column) for column in zip(*rows, strict=True)]
        for name, rows in values.items()
    }


def format_table(medians: Dict[str, List[float]]) -> str:
    """What each shortcut brings: how much more time there would be without it."""
    whole = medians["nothing"]
    lines = [
        "| left out | in its place | training, examples/s | evaluation, examples/s | one question, ms |",
        "|---|---|---:|---:|---:|",
    ]
    for name, row in medians.items():
        # More examples and fewer milliseconds are better.
        lost = [whole[0] / row[0] - 1, whole[1] / row[1] - 1, row[2] / whole[2] - 1]
        cells = [f"{value:.4g}" for value in row]
        if name != "nothing":
            cells = [f"{cell} ({share:+.0%} time)" for cell, share in zip(cells, lost, strict=True)]
        lines.append(f"| {name} | {TRIALS[name].instead} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trials", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tiny model on the sample")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", default=str(BENCHMARKS / "results" / "trials.md"))
    options = parser.parse_args(arguments)
    num_threads = int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1))
    torch.set_num_threads(num_threads)
    with Workspace(options.quick, num_threads) as workspace:
        bench = Bench(workspace, 60 if options.quick else 1000)
        table = format_table(run(bench, options.rounds))
    machine = describe_machine(num_threads)
    text = (
        f"{table}\n{machine['cpu']}, {num_threads} threads; medians of {options.rounds} rounds.\n"
    )
    write_whole(Path(options.output), text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

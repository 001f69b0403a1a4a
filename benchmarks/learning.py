"""
How long it takes to learn SQuAD: `make bench-learning`. Trains until the F1 on all of dev is at least 75.0, the
measure of [DAWNBench](https://dawn.cs.stanford.edu/benchmark/), and writes `time_to_75.json`: hours (reading,
training and evaluation), F1, epochs, examples per second, and the curve. The state is saved every few minutes:
run it again to go on; the time of all sittings counts, that between the last saved state and an interruption too.
"""

import argparse
import json
import os
import sys
import time
from copy import deepcopy
from pathlib import Path
from typing import Any, Dict, List, Optional

import torch
from allennlp.training import TrainerCallback, gradient_descent_trainer

import bidaf_plugin  # noqa: F401  (registers everything)
from benchmarks.machine import describe_machine
from benchmarks.report import versions, write_whole
from benchmarks.systems import BENCHMARKS, ROOT
from bidaf_plugin.analysis.reproduction import QUESTIONS_OF_SQUAD
from bidaf_plugin.training.runs import make_config, train_or_resume

TARGET = 75.0
_SECONDS_BETWEEN_NOTES = 5


class Reached(Exception):
    """The target has been reached: there is nothing left to do."""


class Stopwatch(TrainerCallback):
    """
    Notes the time and the scores of all sittings in a file, and ends training when the target is reached.

    # Parameters

    serialization_dir : `str`
    start : `float`
        When the sitting began, by `time.monotonic`.
    target : `float`
        F1, in percent.
    """

    def __init__(self, serialization_dir: str, start: float, target: float) -> None:
        super().__init__(serialization_dir)
        self._path = Path(serialization_dir, "stopwatch.json")
        self._start = start
        self._target = target
        self._last_note = 0.0
        self._is_reached = False
        self._notes = read_notes(self._path)
        self._seconds_before = self._notes["seconds"]

    def on_batch(self, *args: Any, is_training: bool, **kwargs: Any) -> None:
        # Not at the end of the epoch, which AllenNLP saves only after `on_epoch`.
        if self._is_reached and is_training:
            raise Reached
        if time.monotonic() - self._last_note > _SECONDS_BETWEEN_NOTES:
            self._note()

    def on_epoch(
        self, trainer: Any, metrics: Dict[str, Any], epoch: int, is_primary: bool = True, **_: Any
    ) -> None:
        self._note(
            {
                "steps": trainer._total_batches_completed,
                "em": metrics["validation_em"],
                "f1": metrics["validation_f1"],
                "training_loss": metrics["training_loss"],
            }
        )
        self._is_reached = metrics["validation_f1"] >= self._target

    def _note(self, score: Optional[Dict[str, Any]] = None) -> None:
        self._last_note = time.monotonic()
        self._notes["seconds"] = self._seconds_before + self._last_note - self._start
        if score is not None:
            score["hours"] = self._notes["seconds"] / 3600
            self._notes["curve"].append(score)
        write_whole(self._path, json.dumps(self._notes))


def read_notes(path: Path) -> Dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {"seconds": 0.0, "curve": []}


def learn(config: Dict[str, Any], folder: str, target: float) -> Dict[str, Any]:
    """Trains until the target is reached, or as long as the config says; returns what was noted."""
    start = time.monotonic()
    callbacks = gradient_descent_trainer.DEFAULT_CALLBACKS
    gradient_descent_trainer.DEFAULT_CALLBACKS = (
        *callbacks,
        lambda serialization_dir: Stopwatch(serialization_dir, start, target),
    )
    notes = read_notes(Path(folder, "stopwatch.json"))
    try:
        if not _is_reached(notes["curve"], target):
            # AllenNLP takes apart what it is given.
            train_or_resume(deepcopy(config), folder)
    except Reached:
        pass
    finally:
        gradient_descent_trainer.DEFAULT_CALLBACKS = callbacks
    return read_notes(Path(folder, "stopwatch.json"))


def _is_reached(curve: List[Dict[str, Any]], target: float) -> bool:
    return bool(curve) and curve[-1]["f1"] >= target


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.learning", description="Time to an F1 of 75 on SQuAD dev."
    )
    parser.add_argument("--config", default=f"{ROOT}/training_configs/bidaf_squad_sprint.jsonnet")
    parser.add_argument("--data", metavar="FOLDER", default=os.environ.get("BIDAF_DATA"))
    parser.add_argument("-s", "--serialization-dir", default="runs/learning")
    parser.add_argument("--target", type=float, default=TARGET, help="F1 in percent")
    parser.add_argument("--output", default=str(BENCHMARKS / "results" / "time_to_75.json"))
    options = parser.parse_args(arguments)
    config = make_config(options.config, data=options.data, steps_per_score=None)
    notes = learn(config, options.serialization_dir, options.target)
    last = notes["curve"][-1]
    batch_size = config["data_loader"]["batch_sampler"]["batch_size"]
    figures = {
        "hours": last["hours"],
        "f1": last["f1"],
        "em": last["em"],
        "epochs": round(last["steps"] * batch_size / QUESTIONS_OF_SQUAD, 2),
        "cores": os.cpu_count(),
        "examples_per_second": round(last["steps"] * batch_size / (3600 * last["hours"]), 1),
        "target": options.target,
        "is_reached": last["f1"] >= options.target,
        "curve": notes["curve"],
        "machine": describe_machine(torch.get_num_threads()),
        "versions": versions(),
    }
    write_whole(Path(options.output), json.dumps(figures, indent=2) + "\n")
    print(json.dumps(figures, indent=2))
    return 0 if figures["is_reached"] else 1


if __name__ == "__main__":
    sys.exit(main())

"""
What the folder of a training run tells, also while it is running.
"""

import json
import os
import re
from dataclasses import dataclass
from glob import escape, glob
from typing import Any, Dict, List, Optional, Tuple

from bidaf_plugin.common.errors import DataError

# For each metric, the curves of "training" and "validation": pairs of epoch and value.
Curves = Dict[str, Dict[str, List[Tuple[int, float]]]]

_FIRST_METRICS = ("loss", "em", "f1", "accuracy")
_PROBLEM = re.compile(r" - (WARNING|ERROR|CRITICAL) - ")
_MOST_PROBLEMS = 20
# What is larger, or infinite, is left out of curves: no axis could show the rest beside it.
_LARGEST_DRAWN = 1e100
_EPOCH = re.compile(r"metrics_epoch_(\d{1,9})\.json$")


@dataclass(frozen=True)
class TrainingRun:
    """What `allennlp train` has put into a folder so far."""

    folder: str
    config: Dict[str, Any]
    # What was measured after each epoch so far.
    epochs: List[Dict[str, Any]]
    # What was measured in the end; None if training has not ended.
    metrics: Optional[Dict[str, Any]]
    # The last warnings and errors of the log, each once.
    problems: List[str]
    # Of AllenNLP.
    version: Optional[str]

    @property
    def model_path(self) -> Optional[str]:
        """The archive; before it is made, the folder itself if it has weights; else None."""
        archive = os.path.join(self.folder, "model.tar.gz")
        if os.path.isfile(archive):
            return archive
        has_weights = os.path.isfile(os.path.join(self.folder, "best.th"))
        return self.folder if has_weights else None

    def curves(self) -> Curves:
        """All that was measured after each epoch, without values that are no numbers."""
        curves: Curves = {}
        for metrics in self.epochs:
            for key, value in metrics.items():
                data, _, name = key.partition("_")
                is_measure = data in ("training", "validation") and isinstance(value, (int, float))
                # Memory and what AllenNLP hides are not about how good the model is.
                if is_measure and not name.startswith("_") and "memory" not in name:
                    curve = curves.setdefault(name, {}).setdefault(data, [])
                    if abs(value) < _LARGEST_DRAWN:
                        curve.append((metrics["epoch"], value))
        first = [name for name in _FIRST_METRICS if name in curves]
        return {name: curves[name] for name in [*first, *sorted(set(curves).difference(first))]}


def metric_label(name: str) -> str:
    """How people write it."""
    return name.upper() if name in ("em", "f1") else name.replace("_", " ")


def read_run(folder: str) -> TrainingRun:
    """Reads the folder that `allennlp train -s` writes; a `DataError` says if it is no such folder."""
    config_path = os.path.join(folder, "config.json")
    if not os.path.isdir(folder):
        raise DataError(f"{folder}: there is no such folder")
    config = _read_json(config_path)
    if config is None:
        raise DataError(f"{folder}: not the folder of a training run: no config.json in it")
    paths = glob(os.path.join(escape(folder), "metrics_epoch_*.json"))
    epochs = [metrics for metrics in map(_read_epoch, paths) if metrics is not None]
    meta = _read_json(os.path.join(folder, "meta.json")) or {}
    return TrainingRun(
        folder,
        config,
        sorted(epochs, key=lambda metrics: metrics["epoch"]),
        _read_json(os.path.join(folder, "metrics.json")),
        _read_problems(folder),
        meta.get("version"),
    )


def _read_epoch(path: str) -> Optional[Dict[str, Any]]:
    metrics = _read_json(path)
    number = _EPOCH.search(path)
    if metrics is not None and (number is None or metrics.get("epoch") != int(number[1])):
        raise DataError(
            f"{path}: 'epoch' must be that of the name, found {metrics.get('epoch')!r:.60}"
        )
    return metrics


def _read_json(path: str) -> Optional[Dict[str, Any]]:
    """A JSON object; None if it is not there, or not whole because it is just being written."""
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file, parse_int=_parse_int)
    except (FileNotFoundError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _parse_int(digits: str) -> float:
    """Infinite, if it has thousands of digits: there is nothing to count that high."""
    return int(digits) if len(digits) < 20 else float(digits)


def _read_problems(folder: str) -> List[str]:
    problems: Dict[str, None] = {}
    for path in sorted(glob(os.path.join(escape(folder), "out*.log"))):
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if _PROBLEM.search(line):
                    # Without the time, so that the same problem is one.
                    problems[line.strip().partition(" - ")[2]] = None
    return list(problems)[-_MOST_PROBLEMS:]

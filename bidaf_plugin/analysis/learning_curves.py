"""
How good variants of the model are step by step, as numbers and as pictures.
"""

import csv
import io
import os
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from bidaf_plugin.analysis.training_run import read_run
from bidaf_plugin.common.errors import DataError

# By what models are judged, the most important score last: those that give spans, and cloze models.
_SCORES: Sequence[Tuple[str, ...]] = (("em", "f1"), ("accuracy",))
_LABELS = {"em": "EM", "f1": "F1", "accuracy": "accuracy"}


class Measurement(NamedTuple):
    """
    How good a variant of the model is after so many training steps.

    # Parameters

    variant : `str`
        Its name.
    step : `int`
    scores : `Dict[str, float]`
        On the validation data, in percent: `em` and `f1`, or `accuracy`.
    loss : `float`
        On the validation data.
    training_duration : `str`
        As AllenNLP writes it: "0:12:34.5".
    """

    variant: str
    step: int
    scores: Dict[str, float]
    loss: float
    training_duration: str

    @property
    def main_score(self) -> float:
        """That by which variants are ranked: F1 or accuracy."""
        return list(self.scores.values())[-1]


def score_label(name: str) -> str:
    """A score as people write it."""
    return _LABELS[name]


def read_measurements(folder: str, variant: str) -> List[Measurement]:
    """
    What the run of a variant, a folder in `folder`, has measured so far. Its config must tell how many
    batches are between two scores: `batches_per_epoch`.
    """
    path = os.path.join(folder, variant)
    if not os.path.exists(os.path.join(path, "config.json")):
        return []
    run = read_run(path)
    data_loader = run.config.get("data_loader")
    steps_per_epoch = (
        data_loader.get("batches_per_epoch") if isinstance(data_loader, dict) else None
    )
    if not isinstance(steps_per_epoch, int):
        raise DataError(f"{path}: its config has no number 'batches_per_epoch' of its data_loader")
    first = run.epochs[0] if run.epochs else {}
    names = next((names for names in _SCORES if f"validation_{names[-1]}" in first), _SCORES[0])
    measurements = []
    for metrics in run.epochs:
        scores: Dict[str, Any] = {
            name: metrics.get(f"validation_{name}") for name in (*names, "loss")
        }
        for name, value in scores.items():
            if not isinstance(value, (int, float)):
                raise DataError(
                    f"{path}, metrics_epoch_{metrics['epoch']}.json: 'validation_{name}' must be a "
                    f"number, found {value!r:.60}"
                )
        loss = scores.pop("loss")
        step = steps_per_epoch * (metrics["epoch"] + 1)
        duration = str(metrics.get("training_duration", ""))
        measurements.append(Measurement(variant, step, scores, loss, duration))
    return measurements


def curves_as_csv(curves: Dict[str, List[Measurement]]) -> str:
    """A row for each measurement. All variants must have the same scores."""
    table = io.StringIO()
    writer = csv.writer(table)
    names = score_names(curves)
    writer.writerow(["variant", "step", *names, "loss", "training_duration"])
    for curve in curves.values():
        for measured in curve:
            scores = [measured.scores[name] for name in names]
            others = [measured.loss, measured.training_duration]
            writer.writerow([measured.variant, measured.step, *scores, *others])
    return table.getvalue()


def score_names(curves: Dict[str, List[Measurement]]) -> List[str]:
    """The scores that the variants have, the most important last."""
    return next((list(curve[-1].scores) for curve in curves.values() if curve), [])


def ranked(curves: Dict[str, List[Measurement]]) -> List[List[Measurement]]:
    """The best variant first."""
    return sorted(curves.values(), key=lambda curve: -curve[-1].main_score)


def plot_curves(curves: Dict[str, List[Measurement]], path: str) -> None:
    """The scores by step, as `path`.png and `path`.svg. All variants must have the same scores."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = score_names(curves)
    figure, axes = pyplot.subplots(
        1, len(names), figsize=(6 * len(names), 5), sharex=True, squeeze=False
    )
    colors = pyplot.get_cmap("tab20").colors  # type: ignore[attr-defined]
    for axis, name in zip(axes[0], names, strict=True):
        for index, curve in enumerate(ranked(curves)):
            steps = [measurement.step for measurement in curve]
            scores = [measurement.scores[name] for measurement in curve]
            label = curve[-1].variant.replace("_", " ")
            color = colors[index % len(colors)]
            axis.plot(steps, scores, marker="o", markersize=3, color=color, label=label)
        axis.set_xlabel("training steps")
        axis.set_title(score_label(name))
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("validation score, percent")
    if len(curves) > 1:
        axes[0][-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    figure.tight_layout()
    for extension in ("png", "svg"):
        figure.savefig(f"{path}.{extension}", dpi=150, bbox_inches="tight")
    pyplot.close(figure)

"""
How good variants of the model are: step by step while they are trained, as numbers and as pictures, and in the
end, beside the paper's. A finished run is a folder that `allennlp bidaf reproduce` has written, called by its
variant; further seeds have a number behind it: `bidaf`, `bidaf-2`, `bidaf-3`.
"""

import os
import re
from statistics import mean, stdev
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from matplotlib import colormaps

from bidaf_plugin.analysis.figures import COLORS, draw_curves, new_figure, save_figure
from bidaf_plugin.analysis.formats import markdown_table
from bidaf_plugin.analysis.training_run import metric_label, read_run
from bidaf_plugin.archives.config_check import read_plain_json
from bidaf_plugin.common.errors import DataError

# EM and F1, official, in percent.
Scores = Tuple[float, float]

# By what models are judged, the most important score last: those that give spans, and cloze models.
_SCORES: Sequence[Tuple[str, ...]] = (("em", "f1"), ("accuracy",))
# A difference is real if it is larger than so many standard deviations of single runs.
_STANDARD_DEVIATIONS = 2.0


class Measurement(NamedTuple):
    """How good a variant of the model is after so many training steps, on the validation data."""

    variant: str
    step: int
    # In percent: `em` and `f1`, or `accuracy`.
    scores: Dict[str, float]
    loss: float
    # As AllenNLP writes it: "0:12:34.5".
    training_duration: str

    @property
    def main_score(self) -> float:
        """That by which variants are ranked: F1 or accuracy."""
        return list(self.scores.values())[-1]


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


def score_names(curves: Dict[str, List[Measurement]]) -> List[str]:
    """The scores that the variants have, the most important last."""
    return next((list(curve[-1].scores) for curve in curves.values() if curve), [])


def ranked(curves: Dict[str, List[Measurement]]) -> List[List[Measurement]]:
    """The best variant first."""
    return sorted(curves.values(), key=lambda curve: -curve[-1].main_score)


def curve_rows(curves: Dict[str, List[Measurement]]) -> List[List[Any]]:
    """A row for each measurement, after the names of the columns. All variants must have the same scores."""
    names = score_names(curves)
    rows: List[List[Any]] = [["variant", "step", *names, "loss", "training_duration"]]
    for curve in curves.values():
        for variant, step, scores, *others in curve:
            rows.append([variant, step, *(scores[name] for name in names), *others])
    return rows


def plot_curves(curves: Dict[str, List[Measurement]], path: str) -> None:
    """The scores by step, as `path`.png and `path`.svg. All variants must have the same scores."""
    names = score_names(curves)
    figure = new_figure(6 * len(names) + 1, 5)
    (all_axes,) = figure.subplots(1, len(names), sharex=True, squeeze=False)
    for axes, name in zip(all_axes, names, strict=True):
        points = {
            curve[-1].variant.replace("_", " "): [(m.step, m.scores[name]) for m in curve]
            for curve in ranked(curves)
        }
        draw_curves(axes, points, colormaps["tab20"].colors)  # type: ignore[attr-defined]
        axes.set_xlabel("training steps")
        axes.set_title(metric_label(name))
        axes.set_ylim(bottom=0)
    all_axes[0].set_ylabel("validation score, percent")
    if len(curves) > 1:
        handles, labels = all_axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center", frameon=False)
    save_figure(figure, path)


def read_finished_runs(folder: str) -> Dict[str, List[Scores]]:
    """The scores of the runs in a folder, by their variant."""
    runs: Dict[str, List[Scores]] = {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name, "metrics.json")
        if not os.path.isfile(path):
            continue
        metrics = read_plain_json(path)
        for key in ("em", "f1"):
            if not isinstance(metrics, dict) or not isinstance(metrics.get(key), (int, float)):
                raise DataError(f"{path}: {key!r} must be a number")
        runs.setdefault(re.sub(r"-\d+$", "", name), []).append((metrics["em"], metrics["f1"]))
    if not runs:
        raise DataError(f"{folder}: there is no folder of a finished run (metrics.json) in it")
    return runs


def format_variants(runs: Mapping[str, List[Scores]], paper: Mapping[str, Scores]) -> str:
    """
    A markdown table with the average of the runs of each variant beside the paper's scores: its variants in
    their order, also those without a run, and then all others. Whether a difference is larger than chance is
    judged by the largest standard deviation that any variant shows from seed to seed.
    """
    f1s = {name: [f1 for _, f1 in scores] for name, scores in runs.items()}
    spreads = {name: stdev(values) for name, values in f1s.items() if len(values) > 1}
    spread = max(spreads.values(), default=None)
    our_ranks = _ranks({name: mean(f1s[name]) for name in paper if name in runs})
    paper_ranks = _ranks({name: paper[name][1] for name in our_ranks})
    rows: List[List[Any]] = [
        ["variant", "runs", "EM", "F1", "paper's EM", "paper's F1"]
        + ["F1 less the paper's", "place", "paper's place"]
    ]
    for name in dict.fromkeys([*paper, *runs]):
        of_name = runs.get(name, [])
        em, f1 = map(mean, zip(*of_name, strict=True)) if of_name else (None, None)
        paper_em, paper_f1 = paper.get(name, (None, None))
        plus_minus = f" ± {spreads[name]:.2f}" if name in spreads else ""
        scores = [_number(em), _number(f1) + plus_minus, _number(paper_em, 1), _number(paper_f1, 1)]
        ranks = [our_ranks.get(name, ""), paper_ranks.get(name, "")]
        difference = _difference(f1, paper_f1, spread)
        rows.append([name, len(of_name) or "missing", *scores, difference, *ranks])
    note = "No variant has been run with two seeds: how large chance is cannot be told."
    if spread is not None:
        note = (
            f"From seed to seed F1 has a standard deviation of {spread:.2f}. Differences of more than "
            f"{_STANDARD_DEVIATIONS:g} times as much are called larger than chance."
        )
    return markdown_table(rows, numbers=(1, 2, 3, 4, 5, 7, 8)) + f"\n{note}\n"


def plot_finished(
    runs: Mapping[str, List[Scores]], paper: Mapping[str, Scores], path: str
) -> List[str]:
    """The paper's variants beside our runs, as `path`.png and `path`.svg: a dot for each seed."""
    names = sorted(paper, key=lambda name: paper[name][1])
    labels = [f"{name.replace('_', ' ')}{'' if name in runs else ' (missing)'}" for name in names]
    figure = new_figure(9, 1.2 + 0.3 * len(names))
    (all_axes,) = figure.subplots(1, 2, sharey=True, squeeze=False)
    for column, (axes, title) in enumerate(zip(all_axes, ("EM", "F1"), strict=True)):
        papers = [paper[name][column] for name in names]
        ours = [(run[column], row) for row, name in enumerate(names) for run in runs.get(name, [])]
        marks: Dict[str, Any] = {"linestyle": "none", "marker": "o", "alpha": 0.8}
        axes.plot(
            papers,
            range(len(names)),
            color="#646A73",
            markerfacecolor="none",
            label="the paper",
            **marks,
        )
        axes.plot(
            *zip(*ours, strict=True) if ours else ((), ()),
            color=COLORS[0],
            label="ours, each seed",
            **marks,
        )
        axes.set_xlabel(f"{title}, percent")
        axes.grid(alpha=0.3)
    all_axes[0].set_yticks(range(len(names)), labels)
    figure.legend(
        *all_axes[0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=2,
        frameon=False,
    )
    return save_figure(figure, path)


def _ranks(scores: Dict[str, float]) -> Dict[str, int]:
    """1 for the best."""
    return {name: rank for rank, name in enumerate(sorted(scores, key=lambda n: -scores[n]), 1)}


def _number(value: Optional[float], digits: int = 2) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _difference(ours: Optional[float], papers: Optional[float], spread: Optional[float]) -> str:
    if ours is None or papers is None:
        return ""
    difference = f"{ours - papers:+.2f}"
    if spread is None:
        return difference
    is_large = abs(ours - papers) > _STANDARD_DEVIATIONS * spread
    return f"{difference}, {'larger than chance' if is_large else 'within chance'}"

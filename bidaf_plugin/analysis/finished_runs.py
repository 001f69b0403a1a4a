"""
Tables of what finished runs have reached, beside the paper's. A run is a folder that `allennlp bidaf reproduce`
has written, called by its variant; further seeds have a number behind it: `bidaf`, `bidaf-2`, `bidaf-3`.
"""

import os
import re
from statistics import mean, stdev
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from bidaf_plugin.archives.config_check import read_plain_json
from bidaf_plugin.common.errors import DataError

# A difference is real if it is larger than so many standard deviations of single runs.
_STANDARD_DEVIATIONS = 2.0


class FinishedRun(NamedTuple):
    """Official scores in percent."""

    variant: str
    em: float
    f1: float
    epochs: float
    seed: Any


class VariantScores(NamedTuple):
    """
    What the runs of a variant have reached on average.

    # Parameters

    num_runs : `int`
        0 if the variant was not run; its scores are then None.
    em, f1 : `float`, optional
    spread : `float`, optional
        The standard deviation of F1 from run to run; None of fewer than two.
    """

    variant: str
    num_runs: int
    em: Optional[float]
    f1: Optional[float]
    spread: Optional[float]


def read_finished_runs(folder: str) -> List[FinishedRun]:
    """The runs in a folder, by name."""
    runs = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name, "metrics.json")
        if not os.path.isfile(path):
            continue
        metrics = read_plain_json(path)
        for key in ("em", "f1", "epochs"):
            if not isinstance(metrics.get(key), (int, float)):
                raise DataError(f"{path}: {key!r} must be a number")
        scores = (metrics["em"], metrics["f1"], metrics["epochs"])
        runs.append(FinishedRun(re.sub(r"-\d+$", "", name), *scores, metrics.get("seed")))
    if not runs:
        raise DataError(f"{folder}: there is no folder of a finished run (metrics.json) in it")
    return runs


def summarize_variants(runs: Sequence[FinishedRun], variants: Sequence[str]) -> List[VariantScores]:
    """The given variants in their order, also those without a run, and then all others."""
    names = list(dict.fromkeys([*variants, *(run.variant for run in runs)]))
    summaries = []
    for name in names:
        own = [run for run in runs if run.variant == name]
        em, f1 = (mean([getattr(run, key) for run in own]) if own else None for key in ("em", "f1"))
        spread = stdev([run.f1 for run in own]) if len(own) > 1 else None
        summaries.append(VariantScores(name, len(own), em, f1, spread))
    return summaries


def format_variants(
    summaries: Sequence[VariantScores], paper: Mapping[str, Tuple[float, float]]
) -> str:
    """
    A markdown table beside the paper's scores. Whether a difference is larger than chance is judged by the
    largest spread that any variant shows from seed to seed.
    """
    spread = max((s.spread for s in summaries if s.spread is not None), default=None)
    ours = _ranks({s.variant: s.f1 for s in summaries if s.f1 is not None and s.variant in paper})
    theirs = _ranks({name: paper[name][1] for name in ours})
    lines = [
        "| variant | runs | EM | F1 | paper's EM | paper's F1 | F1 less the paper's | place | paper's place |",
        "|---|---:|---:|---:|---:|---:|---|---:|---:|",
    ]
    for summary in summaries:
        name = summary.variant
        paper_em, paper_f1 = paper.get(name, (None, None))
        cells = [name, str(summary.num_runs or "missing")]
        cells += [_number(summary.em), _with_spread(summary)]
        cells += [_number(paper_em, 1), _number(paper_f1, 1)]
        cells += [_difference(summary.f1, paper_f1, spread)]
        cells += [str(ours.get(name, "")), str(theirs.get(name, ""))]
        lines.append(f"| {' | '.join(cells)} |")
    if spread is None:
        lines += ["", "No variant has been run with two seeds: how large chance is cannot be told."]
    else:
        lines += [
            "",
            f"From seed to seed F1 has a standard deviation of {spread:.2f}. Differences of more than "
            f"{_STANDARD_DEVIATIONS:g} times as much are called larger than chance.",
        ]
    return "\n".join(lines) + "\n"


def _ranks(scores: Dict[str, float]) -> Dict[str, int]:
    """1 for the best."""
    ordered = sorted(scores, key=lambda name: -scores[name])
    return {name: place for place, name in enumerate(ordered, start=1)}


def _number(value: Optional[float], digits: int = 2) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _with_spread(summary: VariantScores) -> str:
    spread = "" if summary.spread is None else f" ± {summary.spread:.2f}"
    return _number(summary.f1) + spread


def _difference(ours: Optional[float], papers: Optional[float], spread: Optional[float]) -> str:
    if ours is None or papers is None:
        return ""
    difference = f"{ours - papers:+.2f}"
    if spread is None:
        return difference
    is_large = abs(ours - papers) > _STANDARD_DEVIATIONS * spread
    return f"{difference}, {'larger than chance' if is_large else 'within chance'}"

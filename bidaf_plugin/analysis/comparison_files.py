"""
What `allennlp bidaf compare` writes: the paper's Figures 2b and 2c for any two or three systems, and all numbers.
"""

import os
from itertools import compress
from typing import Any, Dict, List

from matplotlib.figure import Figure

from bidaf_plugin.analysis.comparison import Comparison, Pair
from bidaf_plugin.analysis.figures import (
    COLORS,
    add_legend,
    new_figure,
    plain,
    save_figure,
    shorten,
)
from bidaf_plugin.analysis.files import write_json
from bidaf_plugin.analysis.formats import write_csv
from bidaf_plugin.analysis.score_report import Difference, breakdown_rows
from bidaf_plugin.analysis.scores import NUM_FIRST_WORDS
from bidaf_plugin.analysis.venn import draw_venn


def write_comparison(comparison: Comparison, data: str, folder: str, score: str) -> List[str]:
    """
    Writes all numbers and both figures, and returns the paths of the files. `data` is the name of the data;
    the bars of first_words.png show `score`, "em" or "f1".
    """
    os.makedirs(folder, exist_ok=True)
    # For each region, which systems are right (1) or wrong (0), and the number of questions.
    regions: List[List[Any]] = [[*comparison.systems, "questions", "percent"]]
    for region, count in comparison.regions.items():
        regions.append([*map(int, region), count, 100 * count / comparison.num_questions])
    tables = {
        "venn": regions,
        "first_words": breakdown_rows("first word", comparison.systems),
        "agreement": _agreement_rows(comparison),
        "questions": _question_rows(comparison),
    }
    paths = []
    for name, rows in tables.items():
        paths.append(os.path.join(folder, f"{name}.csv"))
        write_csv(paths[-1], rows)
    paths.append(os.path.join(folder, "comparison.json"))
    write_json(paths[-1], _as_json(comparison, data))
    paths += save_figure(draw_venn(comparison), os.path.join(folder, "venn"))
    return paths + save_figure(
        draw_first_words(comparison, score), os.path.join(folder, "first_words")
    )


def _agreement_rows(comparison: Comparison) -> List[List[Any]]:
    """For each two systems, everything that a `Pair` has."""
    header = [f"{score}_{field}" for score in ("em", "f1") for field in Difference._fields]
    rows: List[List[Any]] = [[*Pair._fields[:-1], *header]]
    for pair in comparison.pairs:
        rows.append([*pair[:-1], *pair.differences["em"], *pair.differences["f1"]])
    return rows


def _question_rows(comparison: Comparison) -> List[List[Any]]:
    """For each question what each system answers, whether that is right, and its F1."""
    columns = [f"{name} {what}" for name in comparison.systems for what in ("answer", "EM", "F1")]
    rows: List[List[Any]] = [["id", "question", "gold answers", *columns]]
    for scores in zip(*(system.questions for system in comparison.systems.values()), strict=True):
        values = [v for score in scores for v in (score.prediction, int(score.em), score.f1)]
        rows.append([scores[0].id, scores[0].question, " | ".join(scores[0].answers), *values])
    return rows


def _as_json(comparison: Comparison, data: str) -> Dict[str, Any]:
    """All numbers, with all digits."""
    return {
        "data": data,
        "questions": comparison.num_questions,
        "systems": [
            {
                "name": name,
                "file": system.file,
                "scores": system.summary,
                "missing": len(system.missing),
                "extra": len(system.extra),
                "first word": [group._asdict() for group in system.breakdown["first word"]],
            }
            for name, system in comparison.systems.items()
        ],
        "regions": [
            {"right": list(compress(comparison.systems, region)), "questions": count}
            for region, count in comparison.regions.items()
        ],
        "pairs": [
            {
                **pair._asdict(),
                "differences": {name: value._asdict() for name, value in pair.differences.items()},
            }
            for pair in comparison.pairs
        ],
    }


def draw_first_words(comparison: Comparison, score: str = "em") -> Figure:
    """
    The scores of each system, "em" or "f1", for the 10 most frequent first words of questions (Figure 2c).
    """
    groups = {
        name: system.breakdown["first word"][:NUM_FIRST_WORDS]
        for name, system in comparison.systems.items()
    }
    words = next(iter(groups.values()))
    figure = new_figure(max(4.0, 1.0 + 0.72 * len(words)), 3.4)
    axes = figure.add_subplot()
    width = 0.8 / len(groups)
    for number, (values, color) in enumerate(zip(groups.values(), COLORS, strict=False)):
        offset = (number - (len(groups) - 1) / 2) * width
        xs = [index + offset for index in range(len(words))]
        bars = axes.bar(xs, [getattr(g, score) for g in values], 0.9 * width, color=color)
        axes.bar_label(bars, fmt="%.0f", fontsize=7, padding=1.5)
    labels = [f"{plain(shorten(g.label, 12))}\n{g.num_questions:,}" for g in words]
    axes.set_xticks(range(len(words)), labels, fontsize=9)
    axes.set_xlabel("first word of the question, and number of questions", fontsize=9)
    what = "answered correctly (EM)" if score == "em" else "F1"
    axes.set_ylabel(f"{what}, percent", fontsize=9)
    # With room for the label of a bar that reaches 100.
    axes.set_ylim(0, 106)
    axes.set_yticks(range(0, 101, 20))
    axes.tick_params(axis="x", length=0)
    axes.tick_params(axis="y", labelsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.yaxis.grid(alpha=0.3)
    axes.set_axisbelow(True)
    names = [shorten(name) for name in groups]
    columns = 1 if max(map(len, names)) > 25 else len(names)
    add_legend(figure, names, COLORS, loc="outside upper center", ncols=columns)
    return figure

"""
What `allennlp bidaf compare` says and writes: tables as text, as CSV and as JSON.
"""

import os
from itertools import compress
from typing import Any, Dict, List

from bidaf_plugin.analysis.comparison import Comparison, Pair
from bidaf_plugin.analysis.comparison_figures import draw_first_words, draw_venn
from bidaf_plugin.analysis.figures import save_figure
from bidaf_plugin.analysis.prediction_files import write_json
from bidaf_plugin.analysis.scores import mean_em, mean_f1
from bidaf_plugin.analysis.tables import align_columns, write_csv

_LONGEST_LABEL = 16


def write_comparison(comparison: Comparison, data: str, folder: str, score: str) -> List[str]:
    """
    Writes both figures and all numbers, and returns the paths of the files. `data` is the name of the data;
    the bars of first_words.png show `score`, "em" or "f1".
    """
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "")
    write_csv(f"{path}venn.csv", venn_rows(comparison))
    write_csv(f"{path}first_words.csv", first_word_rows(comparison))
    write_csv(f"{path}agreement.csv", agreement_rows(comparison))
    write_csv(f"{path}questions.csv", question_rows(comparison))
    write_json(f"{path}comparison.json", as_json(comparison, data))
    return [
        *(f"{path}{name}.csv" for name in ("venn", "first_words", "agreement", "questions")),
        f"{path}comparison.json",
        *save_figure(draw_venn(comparison), f"{path}venn"),
        *save_figure(draw_first_words(comparison, score), f"{path}first_words"),
    ]


def venn_rows(comparison: Comparison) -> List[List[Any]]:
    """For each region, which systems are right (1) or wrong (0), and the number of questions."""
    rows: List[List[Any]] = [[*comparison.systems, "questions", "percent"]]
    for region, count in comparison.regions.items():
        rows.append([*map(int, region), count, 100 * count / comparison.num_questions])
    return rows


def first_word_rows(comparison: Comparison) -> List[List[Any]]:
    """For each word, and for all others together, the scores of all systems."""
    scores = [f"{name} {score}" for name in comparison.systems for score in ("EM", "F1")]
    rows: List[List[Any]] = [["first word", "questions", *scores]]
    breakdowns = [system.breakdown["first word"] for system in comparison.systems.values()]
    for groups in zip(*breakdowns, strict=True):
        numbers = [number for group in groups for number in (group.em, group.f1)]
        rows.append([groups[0].label, groups[0].num_questions, *numbers])
    return rows


def agreement_rows(comparison: Comparison) -> List[List[Any]]:
    """For each two systems, everything that a `Pair` has."""
    header: List[Any] = [*Pair._fields[:-1], "share_of_first", "share_of_second"]
    fields = ("difference", "low", "high", "p_value")
    header += [f"{score}_{field}" for score in ("em", "f1") for field in fields]
    rows = [header]
    for pair in comparison.pairs:
        differences = [number for score in ("em", "f1") for number in pair.differences[score]]
        rows.append([*pair[:-1], pair.share_of_first, pair.share_of_second, *differences])
    return rows


def question_rows(comparison: Comparison) -> List[List[Any]]:
    """For each question what each system answers, whether that is right, and its F1."""
    columns = [f"{name} {what}" for name in comparison.systems for what in ("answer", "EM", "F1")]
    rows: List[List[Any]] = [["id", "question", "gold answers", *columns]]
    for scores in zip(*(system.questions for system in comparison.systems.values()), strict=True):
        values = [v for score in scores for v in (score.prediction, int(score.em), score.f1)]
        rows.append([scores[0].id, scores[0].question, " | ".join(scores[0].answers), *values])
    return rows


def as_json(comparison: Comparison, data: str) -> Dict[str, Any]:
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
                "share_of_first": pair.share_of_first,
                "share_of_second": pair.share_of_second,
                "differences": {name: value._asdict() for name, value in pair.differences.items()},
            }
            for pair in comparison.pairs
        ],
    }


def as_text(comparison: Comparison) -> str:
    """What people want to know, for the screen."""
    names = list(comparison.systems)
    # Letters in place of names that would make lines too long.
    labels = names if max(map(len, names)) <= _LONGEST_LABEL else ["A", "B", "C"][: len(names)]
    systems = [["system", "questions", "missing", "EM", "F1"]]
    for label, (name, system) in zip(labels, comparison.systems.items(), strict=True):
        counts = [len(system.questions), len(system.missing)]
        scores = [mean_em(system.questions), mean_f1(system.questions)]
        title = name if label == name else f"{label}  {name}"
        systems.append([title, *(f"{n:,}" for n in counts), *(f"{n:.2f}" for n in scores)])

    regions = [["answered correctly by", "questions", "percent"]]
    # What all have in common first, what none has last.
    for region in sorted(comparison.regions, key=lambda region: (-sum(region), *map(int, region))):
        right = list(compress(labels, region))
        title = " and ".join(right) + (" only" if len(right) < len(region) else "")
        count = comparison.regions[region]
        share = 100 * count / comparison.num_questions
        regions.append([title if right else "none", f"{count:,}", f"{share:.2f}"])

    scores_of_labels = [f"{label} {score}" for label in labels for score in ("EM", "F1")]
    words = [["first word", "questions", *scores_of_labels]]
    for word, count, *numbers in first_word_rows(comparison)[1:]:
        words.append([word, f"{count:,}", *(f"{number:.2f}" for number in numbers)])

    label_of = dict(zip(names, labels, strict=True))
    pairs = [_describe_pair(p, label_of[p.first], label_of[p.second]) for p in comparison.pairs]
    tables = [align_columns(rows) for rows in (systems, regions, words)]
    return "\n\n".join([*tables[:2], *pairs, tables[2]])


def _describe_pair(pair: Pair, first: str, second: str) -> str:
    total = pair.both + pair.only_first + pair.only_second + pair.neither
    lines = [
        f"{second} has {pair.share_of_first:.2f} % of what {first} answers correctly, "
        f"{first} has {pair.share_of_second:.2f} % of what {second} answers correctly",
        f"  same answer to {pair.same_answer:,} of {total:,} questions "
        f"({100 * pair.same_answer / total:.2f} %); kappa of being right {pair.kappa:.3f}",
        f"  right where the other is wrong: {first} {pair.only_first:,}, "
        f"{second} {pair.only_second:,}; McNemar's exact test {_p(pair.mcnemar_p_value)}",
    ]
    for name, result in pair.differences.items():
        lines.append(
            f"  {name.upper()} of {second} minus {first} {result.difference:+.2f}, 95 % interval "
            f"{result.low:+.2f} to {result.high:+.2f}, paired bootstrap {_p(result.p_value)}"
        )
    return "\n".join(lines)


def _p(value: float) -> str:
    return f"p = {value:.4f}" if value >= 0.0001 else "p < 0.0001"

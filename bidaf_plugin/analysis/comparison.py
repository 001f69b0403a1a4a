"""
What two or three systems have in common, on the same questions: the numbers behind the paper's Figures 2b and 2c,
and what `allennlp bidaf compare` says of them. A question is answered correctly if it is an exact match.
"""

from collections import Counter
from itertools import combinations, compress, product
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from scipy.stats import binomtest

from bidaf_plugin.analysis.formats import align_columns
from bidaf_plugin.analysis.score_report import (
    Difference,
    FileScores,
    breakdown_rows,
    compare_files,
)
from bidaf_plugin.analysis.scores import mean_em, mean_f1
from bidaf_plugin.training.metrics import normalize_answer

# For each system whether it is right: the questions for which this holds are one region of the diagram.
Region = Tuple[bool, ...]

_LONGEST_LABEL = 16


class Pair(NamedTuple):
    """Two systems side by side."""

    first: str
    second: str
    # The questions that are answered correctly by ...
    both: int
    only_first: int
    only_second: int
    neither: int
    # Questions to which both give the same answer, right or wrong, but for case, articles and punctuation.
    same_answer: int
    # Cohen's kappa of being right: 1 if they are right about the same questions, 0 if they are no more so than
    # by chance.
    kappa: float
    # Of McNemar's exact test, both sides: how likely it is that those which only one of them answers correctly
    # are divided so unevenly if none is better.
    mcnemar_p_value: float
    # How much of what the first answers correctly the second does too, and the other way round, in percent.
    share_of_first: float
    share_of_second: float
    # The paired bootstrap of "em" and "f1", second - first, in percent.
    differences: Dict[str, Difference]


class Comparison(NamedTuple):
    """Systems by name, and what each two of them have in common."""

    systems: Dict[str, FileScores]
    # How many questions there are in each region of the Venn diagram, and outside of it.
    regions: Dict[Region, int]
    pairs: List[Pair]

    @property
    def num_questions(self) -> int:
        return sum(self.regions.values())


def compare(systems: Dict[str, FileScores]) -> Comparison:
    """Compares two or three systems that were scored on the same data."""
    pairs = [_compare_pair(systems, *names) for names in combinations(systems, 2)]
    return Comparison(systems, count_regions([*map(_is_right, systems.values())]), pairs)


def _is_right(system: FileScores) -> List[bool]:
    """For each question, whether it was answered correctly."""
    return [score.em == 1 for score in system.questions]


def count_regions(right: Sequence[Sequence[bool]]) -> Dict[Region, int]:
    """The size of each region, also of those that are empty; from what each system is right about."""
    counts = Counter(zip(*right, strict=True))
    # That of no system first; the first system changes fastest.
    regions = (flags[::-1] for flags in product((False, True), repeat=len(right)))
    return {region: counts[region] for region in regions}


def mcnemar_p_value(only_first: int, only_second: int) -> float:
    """The exact form of the test of [McNemar (1947)](https://doi.org/10.1007/BF02295996)."""
    num_different = only_first + only_second
    return float(binomtest(only_first, num_different).pvalue) if num_different else 1.0


def _compare_pair(systems: Dict[str, FileScores], first: str, second: str) -> Pair:
    first_scores, second_scores = systems[first], systems[second]
    regions = count_regions([_is_right(first_scores), _is_right(second_scores)])
    both, neither = regions[True, True], regions[False, False]
    only_first, only_second = regions[True, False], regions[False, True]
    same_answer = sum(
        one.prediction is not None
        and other.prediction is not None
        and normalize_answer(one.prediction) == normalize_answer(other.prediction)
        for one, other in zip(first_scores.questions, second_scores.questions, strict=True)
    )
    return Pair(
        first,
        second,
        both,
        only_first,
        only_second,
        neither,
        same_answer,
        _kappa(both, only_first, only_second, neither),
        mcnemar_p_value(only_first, only_second),
        100 * both / max(both + only_first, 1),
        100 * both / max(both + only_second, 1),
        compare_files(first_scores, second_scores),
    )


def _kappa(both: int, only_first: int, only_second: int, neither: int) -> float:
    total = both + only_first + only_second + neither
    observed = (both + neither) / total
    first, second = (both + only_first) / total, (both + only_second) / total
    by_chance = first * second + (1 - first) * (1 - second)
    # Where both are always right, or always wrong, they agree, and there is nothing but chance.
    return 1.0 if by_chance == 1 else (observed - by_chance) / (1 - by_chance)


def as_text(comparison: Comparison) -> str:
    """What people want to know, for the screen."""
    names = list(comparison.systems)
    # Letters in place of names that would make lines too long.
    labels = names if max(map(len, names)) <= _LONGEST_LABEL else ["A", "B", "C"][: len(names)]
    systems: List[List[Any]] = [["system", "questions", "missing", "EM", "F1"]]
    for label, (name, system) in zip(labels, comparison.systems.items(), strict=True):
        title = name if label == name else f"{label}  {name}"
        scores = [mean_em(system.questions), mean_f1(system.questions)]
        systems.append([title, len(system.questions), len(system.missing), *scores])

    regions: List[List[Any]] = [["answered correctly by", "questions", "percent"]]
    # What all have in common first, what none has last.
    for region in sorted(comparison.regions, key=lambda region: (-sum(region), *map(int, region))):
        right = list(compress(labels, region))
        title = " and ".join(right) + (" only" if len(right) < len(region) else "")
        count = comparison.regions[region]
        share = 100 * count / comparison.num_questions
        regions.append([title if right else "none", count, share])

    words = breakdown_rows(
        "first word", dict(zip(labels, comparison.systems.values(), strict=True))
    )
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

"""
What two or three systems have in common, on the same questions: the numbers behind the paper's
Figures 2b and 2c. A question is answered correctly if it is an exact match.
"""

from itertools import combinations, product
from typing import Dict, List, Mapping, NamedTuple, Sequence, Tuple

from scipy.stats import binomtest

from bidaf_plugin.analysis.score_report import Difference, FileScores, compare_files
from bidaf_plugin.training.metrics import normalize_answer

# For each system whether it is right: the questions for which this holds are one region of the diagram.
Region = Tuple[bool, ...]


class Pair(NamedTuple):
    """
    Two systems side by side.

    # Parameters

    first, second : `str`
        Their names.
    both, only_first, only_second, neither : `int`
        The questions that are answered correctly by ...
    same_answer : `int`
        Questions to which both give the same answer, right or wrong, but for case, articles and
        punctuation.
    kappa : `float`
        Cohen's kappa of being right: 1 if they are right about the same questions, 0 if they are no more
        so than by chance.
    mcnemar_p_value : `float`
        Of McNemar's exact test, both sides: how likely it is that those which only one of them answers
        correctly are divided so unevenly if none is better.
    differences : `Dict[str, Difference]`
        The paired bootstrap of "em" and "f1", second - first, in percent.
    """

    first: str
    second: str
    both: int
    only_first: int
    only_second: int
    neither: int
    same_answer: int
    kappa: float
    mcnemar_p_value: float
    differences: Dict[str, Difference]

    @property
    def share_of_first(self) -> float:
        """How much of what the first answers correctly the second does too, in percent."""
        return _percent(self.both, self.both + self.only_first)

    @property
    def share_of_second(self) -> float:
        """How much of what the second answers correctly the first does too, in percent."""
        return _percent(self.both, self.both + self.only_second)


class Comparison(NamedTuple):
    """
    # Parameters

    systems : `Dict[str, FileScores]`
        By name.
    regions : `Dict[Region, int]`
        How many questions there are in each region of the Venn diagram, and outside of it.
    pairs : `List[Pair]`
    """

    systems: Dict[str, FileScores]
    regions: Dict[Region, int]
    pairs: List[Pair]

    @property
    def num_questions(self) -> int:
        return sum(self.regions.values())


def compare(systems: Mapping[str, FileScores]) -> Comparison:
    """Compares two or three systems that were scored on the same data."""
    regions = count_regions([_is_right(system) for system in systems.values()])
    pairs = [_compare_pair(*pair) for pair in combinations(systems.items(), 2)]
    return Comparison(dict(systems), regions, pairs)


def _is_right(system: FileScores) -> List[bool]:
    """For each question, whether it was answered correctly."""
    return [score.em == 1 for score in system.questions]


def count_regions(right: Sequence[Sequence[bool]]) -> Dict[Region, int]:
    """The size of each region, also of those that are empty; from what each system is right about."""
    regions = dict.fromkeys(all_regions(len(right)), 0)
    for region in zip(*right, strict=True):
        regions[region] += 1
    return regions


def all_regions(num_systems: int) -> List[Region]:
    """With that of no system first; the first system changes fastest."""
    return [flags[::-1] for flags in product((False, True), repeat=num_systems)]


def mcnemar_p_value(only_first: int, only_second: int) -> float:
    """The exact form of the test of [McNemar (1947)](https://doi.org/10.1007/BF02295996)."""
    num_different = only_first + only_second
    return float(binomtest(only_first, num_different).pvalue) if num_different else 1.0


def _compare_pair(first: Tuple[str, FileScores], second: Tuple[str, FileScores]) -> Pair:
    (first_name, first_scores), (second_name, second_scores) = first, second
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
        first_name,
        second_name,
        both,
        only_first,
        only_second,
        neither,
        same_answer,
        _kappa(both, only_first, only_second, neither),
        mcnemar_p_value(only_first, only_second),
        compare_files(first_scores, second_scores),
    )


def _kappa(both: int, only_first: int, only_second: int, neither: int) -> float:
    total = both + only_first + only_second + neither
    observed = (both + neither) / total
    first, second = (both + only_first) / total, (both + only_second) / total
    by_chance = first * second + (1 - first) * (1 - second)
    # Where both are always right, or always wrong, they agree, and there is nothing but chance.
    return 1.0 if by_chance == 1 else (observed - by_chance) / (1 - by_chance)


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0

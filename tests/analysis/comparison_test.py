import csv
from pathlib import Path
from typing import Dict, Optional, Sequence

import pytest

from bidaf_plugin.analysis.comparison import Comparison, compare, count_regions, mcnemar_p_value
from bidaf_plugin.analysis.comparison_files import write_comparison
from bidaf_plugin.analysis.files import read_gold_paragraphs
from bidaf_plugin.analysis.score_report import score_file
from tests.analysis.squad_helpers import question, squad, write
from tests.helpers import REAL_DATA, needs_real_data

BASELINE = "logistic-regression-baseline"
MATCH_LSTM = "match-lstm-ans-ptr-boundary-ensemble"
R_NET = "r-net-plus-ensemble"


def compare_answers(folder: Path, **answers: Sequence[Optional[str]]) -> Comparison:
    """Compares systems by what they answer to as many questions, all with the answer "Ada Orn"."""
    num_questions = len(next(iter(answers.values())))
    data = squad(*(question(str(number)) for number in range(num_questions)))
    paragraphs = read_gold_paragraphs(write(folder / "data.json", data))
    systems = {}
    for name, texts in answers.items():
        predictions = {str(number): text for number, text in enumerate(texts) if text is not None}
        systems[name] = score_file(paragraphs, write(folder / "p.json", predictions))
    return compare(systems)


def compare_published(*names: str) -> Comparison:
    assert REAL_DATA is not None
    folder = REAL_DATA / "squad"
    paragraphs = read_gold_paragraphs(folder / "dev-v1.1.json.gz")
    files: Dict[str, str] = {n: str(folder / "predictions" / f"{n}.json.gz") for n in names}
    return compare({name: score_file(paragraphs, file) for name, file in files.items()})


class TestCompare:
    def test_regions_shares_and_agreement(self, tmp_path: Path) -> None:
        comparison = compare_answers(
            tmp_path,
            a=["Ada Orn", "Ada Orn", "Ada Orn", "1871", "twice"],
            b=["Ada Orn", "the Ada Orn!", "Jon Ber", "in 1871", "Twice."],
        )
        assert comparison.num_questions == 5
        assert comparison.regions == {
            (False, False): 2, (True, False): 1, (False, True): 0, (True, True): 2,
        }  # fmt: skip
        (pair,) = comparison.pairs
        assert (pair.both, pair.only_first, pair.only_second, pair.neither) == (2, 1, 0, 2)
        assert pair.share_of_first == pytest.approx(100 * 2 / 3)
        assert pair.share_of_second == 100
        # The two that both have right, and "twice".
        assert pair.same_answer == 3
        by_chance = 3 / 5 * 2 / 5 + 2 / 5 * 3 / 5
        assert pair.kappa == pytest.approx((4 / 5 - by_chance) / (1 - by_chance))
        assert pair.differences["em"].difference == pytest.approx(-100 / 5)

    def test_missing_answers_are_wrong_and_equal_to_nothing(self, tmp_path: Path) -> None:
        comparison = compare_answers(tmp_path, a=[None, "Ada Orn"], b=[None, "Ada Orn"])
        assert comparison.regions[False, False] == comparison.regions[True, True] == 1
        assert comparison.pairs[0].same_answer == 1

    def test_systems_that_are_never_or_always_right(self, tmp_path: Path) -> None:
        (pair,) = compare_answers(tmp_path, a=["x", "x"], b=["y", "y"]).pairs
        assert (pair.kappa, pair.share_of_first, pair.mcnemar_p_value) == (1, 0, 1)
        (pair,) = compare_answers(tmp_path, a=["x", "x"], b=["Ada Orn"] * 2).pairs
        assert pair.kappa == 0

    def test_three_systems_make_three_pairs(self, tmp_path: Path) -> None:
        comparison = compare_answers(
            tmp_path, a=["Ada Orn", "x"], b=["Ada Orn", "x"], c=["x", "Ada Orn"]
        )
        assert [(pair.first, pair.second) for pair in comparison.pairs] == [
            ("a", "b"), ("a", "c"), ("b", "c"),
        ]  # fmt: skip
        assert len(comparison.regions) == 8
        assert comparison.regions[True, True, False] == comparison.regions[False, False, True] == 1

    def test_no_answer_is_a_formula_of_a_spreadsheet(self, tmp_path: Path) -> None:
        comparison = compare_answers(tmp_path, a=["=1+1"], b=["@b"])
        write_comparison(comparison, "data.json", str(tmp_path), "em")
        with open(tmp_path / "questions.csv", newline="", encoding="utf-8") as file:
            (row,) = csv.DictReader(file)
        assert (row["a answer"], row["a EM"], row["b answer"]) == ("'=1+1", "0", "'@b")

    def test_regions_are_in_the_order_of_the_systems(self) -> None:
        regions = count_regions([[True, True], [False, True], [False, False]])
        assert regions[True, False, False] == regions[True, True, False] == 1
        assert sum(regions.values()) == 2

    @needs_real_data
    def test_published_systems(self) -> None:
        comparison = compare_published(BASELINE, MATCH_LSTM, R_NET)
        assert comparison.num_questions == 10_570
        first, second, third = comparison.pairs
        # Counted by other means. (The paper's model has 86 % of what the baseline answers correctly.)
        assert first.share_of_first == pytest.approx(100 * 3698 / 4243)
        assert second.share_of_first == pytest.approx(100 * 4022 / 4243)
        assert third.share_of_first == pytest.approx(100 * 6862 / 7149)
        assert comparison.regions[True, True, True] == 3637
        assert first.mcnemar_p_value < 1e-100


class TestMcnemar:
    def test_the_exact_test_by_hand(self) -> None:
        # Of 6 different questions one goes to the first: as unlikely as 0, 1, 5 or 6 heads.
        assert mcnemar_p_value(1, 5) == pytest.approx((1 + 6 + 6 + 1) / 2**6)
        assert mcnemar_p_value(5, 1) == mcnemar_p_value(1, 5)
        assert mcnemar_p_value(3, 3) == pytest.approx(1)
        assert mcnemar_p_value(0, 0) == 1

import csv
import random
from pathlib import Path
from typing import List

import pytest

from bidaf_plugin.analysis.ensemble_size import _choose, score_by_number, write_sizes
from bidaf_plugin.analysis.files import read_gold_paragraphs, write_nbest
from bidaf_plugin.modules.ensemble_rules import Candidate
from tests.analysis.squad_helpers import PASSAGE, question, squad, write

RIGHT, WRONG = (PASSAGE.index("Ada"), PASSAGE.index("Ada") + 7), (0, 3)


@pytest.fixture
def members(tmp_path: Path) -> List[str]:
    """Two models that are right, one of them hardly, and one that is wrong."""
    paths = []
    for number, (span, confidence) in enumerate([(RIGHT, 0.9), (RIGHT, 0.2), (WRONG, 0.5)]):
        paths.append(str(tmp_path / f"{number}.nbest.json"))
        write_nbest(paths[-1], {"a": [Candidate(span, confidence)]})
    return paths


class TestScoreByNumber:
    def test_scores_are_means_over_choices(self, members: List[str], tmp_path: Path) -> None:
        data = write(tmp_path / "data.json", squad(question("a", ("Ada Orn",))))
        scores = score_by_number(members, read_gold_paragraphs(data), ["votes", "spans"])
        assert [(s.rule, s.num_models, s.num_choices) for s in scores] == [
            (rule, size, choices)
            for size, choices in ((1, 3), (2, 3), (3, 1))
            for rule in ("votes", "spans")
        ]
        # Of the pairs, only the second and third model are wrong together.
        expected = [pytest.approx(200 / 3), pytest.approx(200 / 3), 100]
        assert [s.em for s in scores if s.rule == "votes"] == expected
        assert [s.em for s in scores if s.rule == "spans"] == expected

        paths = write_sizes(scores, str(tmp_path / "sizes"))
        assert [Path(path).name for path in paths] == ["models.csv", "models.png", "models.svg"]
        with open(paths[0]) as file:
            assert len(list(csv.DictReader(file))) == len(scores)

    def test_of_many_choices_some_are_drawn_each_once(self) -> None:
        choices = _choose(12, 6, random.Random(0))
        assert len(set(choices)) == len(choices) == 10
        assert all(len(set(choice)) == 6 for choice in choices)
        assert _choose(12, 12, random.Random(0)) == [tuple(range(12))]

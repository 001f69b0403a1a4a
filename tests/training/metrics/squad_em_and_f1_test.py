import gzip
import json
from typing import Dict, List

import pytest

from bidaf_plugin.data.dataset_readers.squad_json import read_squad_json
from bidaf_plugin.training.metrics import SquadEmAndF1
from bidaf_plugin.training.metrics.squad_em_and_f1 import f1_score, normalize_answer
from tests.helpers import REAL_DATA, needs_real_data


class TestSquadEmAndF1:
    @pytest.mark.parametrize(
        "text, expected",
        [
            ("The  Cat, a dog.", "cat dog"),
            ("Theatre", "theatre"),
            ("U.S.", "us"),
            ("“The” end", "“ ” end"),  # only ASCII punctuation goes, as in the official script
            ("a an the", ""),
        ],
    )
    def test_normalises_like_the_official_script(self, text: str, expected: str) -> None:
        assert normalize_answer(text) == expected

    def test_f1_is_over_words(self) -> None:
        # 2 of 3 predicted words are among 4 gold words.
        precision, recall = 2 / 3, 2 / 4
        assert f1_score("big red car", "red car of mine") == pytest.approx(
            2 * precision * recall / (precision + recall)
        )
        assert f1_score("", "red") == 0.0

    def test_takes_the_best_answer_and_averages_over_questions(self) -> None:
        metric = SquadEmAndF1()
        metric(["the cat"], [["dog", "cat"]])
        metric(["red car", "x"], [["car"], ["y"]])
        assert metric.get_metric() == {
            "em": pytest.approx(100 * (1 + 0 + 0) / 3),
            "f1": pytest.approx(100 * (1 + 2 / 3 + 0) / 3),
        }
        metric.get_metric(reset=True)
        assert metric.get_metric() == {}

    def test_numbers_are_plain_floats(self) -> None:
        metric = SquadEmAndF1()
        metric(["a b"], [["b"]])
        assert all(type(value) is float for value in metric.get_metric().values())

    @needs_real_data
    @pytest.mark.parametrize(
        "system, em, f1",
        [
            ("r-net-plus-ensemble", 82.469, 88.478),
            ("match-lstm-ans-ptr-boundary-ensemble", 67.635, 76.756),
            ("logistic-regression-baseline", 40.142, 50.982),
        ],
    )
    def test_published_predictions_get_their_official_scores(
        self, system: str, em: float, f1: float
    ) -> None:
        assert REAL_DATA is not None
        folder = REAL_DATA / "squad"
        answers: Dict[str, List[str]] = {
            question.id: [answer.text for answer in question.answers]
            for paragraph in read_squad_json(folder / "dev-v1.1.json.gz")
            for question in paragraph.questions
        }
        with gzip.open(folder / "predictions" / f"{system}.json.gz") as file:
            predictions = json.load(file)
        metric = SquadEmAndF1()
        metric([predictions.get(id, "") for id in answers], list(answers.values()))
        assert metric.get_metric() == {
            "em": pytest.approx(em, abs=5e-4),
            "f1": pytest.approx(f1, abs=5e-4),
        }

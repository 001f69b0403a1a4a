import gzip
import json
from typing import Dict, List

import pytest
import torch
import torch.multiprocessing

from bidaf_plugin.data.dataset_readers.squad_json import read_squad_json
from bidaf_plugin.training.metrics import (
    ClozeAccuracy,
    MeanOverWorkers,
    SpanAccuracy,
    Squad2EmAndF1,
    SquadEmAndF1,
    f1_score,
    normalize_answer,
    squad2_scores,
)
from tests.helpers import REAL_DATA, needs_real_data, run_in_two_processes


class TestSpanAccuracy:
    def test_counts_starts_ends_and_spans_of_any_gold_answer(self) -> None:
        metric = SpanAccuracy()
        best_spans = torch.tensor([[1, 2], [4, 5], [3, 9], [0, 0]])
        answer_spans = torch.tensor(
            [
                [[1, 2], [-1, -1]],
                [[0, 1], [4, 5]],
                # Right start of one answer and right end of another: not a right span.
                [[3, 3], [8, 9]],
                [[1, 1], [-1, -1]],
            ]
        )
        metric(best_spans, answer_spans)
        assert metric.get_metric() == {
            "start_accuracy": 100 * 3 / 4,
            "end_accuracy": 100 * 3 / 4,
            "span_accuracy": 100 * 2 / 4,
        }


class TestClozeAccuracy:
    def test_is_over_all_questions_with_an_answer(self) -> None:
        accuracy = ClozeAccuracy()
        # Right, wrong, answer not in the article, answer unknown.
        accuracy(torch.tensor([2, 0, 1, 1]), torch.tensor([2, 1, -2, -1]))
        # No candidate at all, which is wrong even though both are negative.
        accuracy(torch.tensor([-1, 3]), torch.tensor([-2, 3]))
        assert accuracy.get_metric() == {"accuracy": 100 * 2 / 5}
        assert accuracy.get_metric(reset=True) == {"accuracy": 100 * 2 / 5}
        assert accuracy.get_metric() == {}

    def test_nothing_to_score(self) -> None:
        accuracy = ClozeAccuracy()
        accuracy(torch.tensor([-1, 0]), torch.tensor([-1, -1]))
        assert accuracy.get_metric() == {}


def score_uneven_shares(global_rank: int, world_size: int, gpu_id: int, shares: List[int]) -> None:
    metric = MeanOverWorkers(["right"])
    # Worker 0 has more batches than worker 1: an exchange in every batch would hang here.
    for _ in range(shares[global_rank]):
        metric.add([1.0 - global_rank], 1)
        metric.get_metric()
    assert metric.get_metric(reset=True) == {"right": 100 * shares[0] / sum(shares)}
    assert metric.get_metric() == {}


class TestMeanOverWorkers:
    def test_sums_are_exchanged_once_when_the_metric_is_reset(self) -> None:
        torch.set_num_threads(1)
        run_in_two_processes(score_uneven_shares, shares=[3, 1])


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


class TestSquad2EmAndF1:
    @pytest.mark.parametrize(
        "prediction, answers, em, f1",
        [
            ("", [], 1, 1),
            ("Ada", [], 0, 0),
            ("the", [], 1, 1),  # which is nothing after normalisation
            ("", ["Ada"], 0, 0),
            ("the Ada", ["Ada"], 1, 1),
            ("Ada Orn", ["Bob", "Ada"], 0, 2 / 3),
            ("", ["the"], 1, 1),  # an answer that is nothing does not count as one
        ],
    )
    def test_scores_of_a_question(
        self, prediction: str, answers: List[str], em: float, f1: float
    ) -> None:
        assert squad2_scores(prediction, answers) == (em, pytest.approx(f1))

    def test_averages_over_all_and_over_both_kinds_of_questions(self) -> None:
        metric = Squad2EmAndF1()
        metric(["", "Ada Orn"], [[], ["Ada"]])
        metric(["x", "Ada"], [[], ["Ada"]])
        assert metric.get_metric() == {
            "em": 100 * 2 / 4,
            "f1": pytest.approx(100 * (1 + 2 / 3 + 0 + 1) / 4),
            "has_answer_em": 100 * 1 / 2,
            "has_answer_f1": pytest.approx(100 * (2 / 3 + 1) / 2),
            "no_answer_em": 100 * 1 / 2,
        }
        metric.get_metric(reset=True)
        assert metric.get_metric() == {}
        metric(["Ada"], [["Ada"]])
        assert "no_answer_em" not in metric.get_metric()

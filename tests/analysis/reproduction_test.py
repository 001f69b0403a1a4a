import json
from pathlib import Path
from typing import Any

import pytest

from bidaf_plugin.analysis.reproduction import (
    format_comparison,
    training_minutes,
    write_comparison,
    write_results,
)
from bidaf_plugin.analysis.variants import Measurement, read_measurements
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.squad_json import read_squad_json
from bidaf_plugin.training.runs import make_config, train_or_resume, train_variant
from tests.analysis.run_helpers import write_run
from tests.cloze_helpers import tiny_cloze_params
from tests.helpers import SAMPLE_V2, TINY_SQUAD, tiny_params


def measured(step: int, duration: str) -> Measurement:
    return Measurement("bidaf", step, {"em": 1.0, "f1": 2.0}, 3.0, duration)


class TestResults:
    def test_goes_on_where_it_ended_and_writes_results(self, tmp_path: Path) -> None:
        path = tmp_path / "config.json"
        path.write_text(json.dumps(tiny_params("num_epochs:: 3")))
        run, results = str(tmp_path / "run"), tmp_path / "results"
        for num_scores in (1, 2):
            # No time at all: one stretch, and that is it.
            train_or_resume(make_config(str(path), steps_per_score=2), run, minutes=0)
            assert len(list(Path(run).glob("metrics_epoch_*.json"))) == num_scores
        train_or_resume(make_config(str(path), steps_per_score=2), run)
        text = write_results(run, str(results))
        metrics = json.loads((results / "metrics.json").read_text())
        best = json.loads((Path(run) / "metrics.json").read_text())
        assert metrics["f1"] == pytest.approx(best["best_validation_f1"])
        assert metrics["em"] == pytest.approx(best["best_validation_em"])
        assert metrics["steps"] == 6 and metrics["questions"] == 5
        assert f"{metrics['f1']:.2f}" in text and "77.3" in text
        assert {path.name for path in results.iterdir()} == {
            *("metrics.json", "predictions.nbest.json.gz", "README.md"),
            *("curve.csv", "curve.png", "curve.svg"),
        }
        assert metrics["epochs"] >= 0 and metrics["examples_per_second"] > 0
        config = json.dumps(metrics["config"])
        assert TINY_SQUAD.name in config and str(TINY_SQUAD) not in config

    def test_a_model_that_can_say_that_there_is_no_answer(self, tmp_path: Path) -> None:
        data = f"train_data:: '{SAMPLE_V2}', dev_data:: '{SAMPLE_V2}', batch_size:: 8"
        path = tmp_path / "config.json"
        path.write_text(json.dumps(tiny_params(data, "bidaf_plus2.jsonnet")))
        run, results = str(tmp_path / "run"), tmp_path / "results"
        train_or_resume(make_config(str(path), steps_per_score=2), run)
        text = write_results(run, str(results))
        assert text.startswith("# SQuAD 2.0 dev") and "77.3" not in text
        metrics = json.loads((results / "metrics.json").read_text())
        best = json.loads((Path(run) / "metrics.json").read_text())
        assert metrics["f1"] == pytest.approx(best["best_validation_f1"])
        num_questions = sum(len(item.questions) for item in read_squad_json(SAMPLE_V2))
        assert metrics["epochs"] == round(2 * 8 / num_questions, 2)

    def test_time_of_several_sittings(self) -> None:
        curve = [
            measured(1, "0:01:00.5"),
            measured(2, "0:02:00.5"),
            # The second sitting begins.
            measured(3, "0:00:59.5"),
            measured(4, "1 day, 0:00:59.5"),
        ]
        assert training_minutes(curve) == pytest.approx(2 + 1 + 24 * 60)


class TestComparison:
    def test_the_table_is_ranked_and_has_the_paper_s_scores(self) -> None:
        curves = {
            name: [Measurement(name, 10, {"em": em, "f1": f1}, 1.0, "0:01")]
            for name, em, f1 in (("beta_mlp", 10.0, 20.0), ("mine", 11.0, 30.5))
        }
        rows = format_comparison(curves).splitlines()[2:]
        assert rows == [
            "| mine | 10 | 11.00 | 30.50 |  |  |",
            "| beta_mlp | 10 | 10.00 | 20.00 | 67.1 | 77.0 |",
        ]

    def test_cloze_models_are_compared_by_accuracy(self, tmp_path: Path) -> None:
        for variant, choices in (("windows", ""), ("whole", "window:: null")):
            train_variant(tiny_cloze_params(choices), str(tmp_path / variant), 2, 2)
        write_comparison(str(tmp_path), ["windows", "whole"])
        rows = (tmp_path / "comparison.csv").read_text().splitlines()
        assert rows[0] == "variant,step,accuracy,loss,training_duration"
        assert [row.split(",")[:2] for row in rows[1:]] == [
            ["windows", "1"],
            ["windows", "2"],
            ["whole", "1"],
            ["whole", "2"],
        ]
        table = (tmp_path / "comparison.md").read_text().splitlines()
        assert table[0] == "| variant | steps | accuracy |"
        accuracies = [float(row.split("|")[3]) for row in table[2:]]
        last = [read_measurements(str(tmp_path), name)[-1] for name in ("windows", "whole")]
        expected = sorted((measured.scores["accuracy"] for measured in last), reverse=True)
        assert accuracies == pytest.approx(expected, abs=0.005)

    @pytest.mark.parametrize("score", ["x", None, {}])
    def test_a_damaged_score_is_named(self, score: Any, tmp_path: Path) -> None:
        config = {"data_loader": {"batches_per_epoch": 2}}
        folder = write_run(tmp_path / "one", config=config)
        metrics = {"epoch": 0, "validation_loss": 1, "validation_em": 1, "validation_f1": score}
        (folder / "metrics_epoch_0.json").write_text(json.dumps(metrics))
        with pytest.raises(DataError, match="epoch_0.json: 'validation_f1' must be a number, fou"):
            read_measurements(str(tmp_path), "one")

    def test_a_config_without_steps_is_named(self, tmp_path: Path) -> None:
        write_run(tmp_path / "one", config={"data_loader": 1})
        with pytest.raises(DataError, match="one: its config has no number 'batches_per_epoch'"):
            read_measurements(str(tmp_path), "one")

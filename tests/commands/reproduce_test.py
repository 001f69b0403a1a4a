import json
from pathlib import Path

import pytest

from bidaf_plugin.analysis.variants import Measurement
from bidaf_plugin.commands.reproduce import (
    make_config,
    train,
    training_minutes,
    write_results,
)
from bidaf_plugin.common.errors import DataError
from tests.helpers import ROOT, TINY_SQUAD, tiny_params

CONFIG = str(ROOT / "training_configs" / "bidaf_squad_adam.jsonnet")


def measured(step: int, duration: str) -> Measurement:
    return Measurement("bidaf", step, {"em": 1.0, "f1": 2.0}, 3.0, duration)


class TestReproduce:
    def test_goes_on_where_it_ended_and_writes_results(self, tmp_path: Path) -> None:
        path = tmp_path / "config.json"
        path.write_text(json.dumps(tiny_params("num_epochs:: 3")))
        run, results = str(tmp_path / "run"), tmp_path / "results"
        for num_scores in (1, 2):
            # No time at all: one stretch, and that is it.
            train(make_config(str(path), steps_per_score=2), run, minutes=0)
            assert len(list(Path(run).glob("metrics_epoch_*.json"))) == num_scores
        train(make_config(str(path), steps_per_score=2), run)
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

    def test_files_of_a_folder(self, tmp_path: Path) -> None:
        names = ("squad/train-v1.1.json.gz", "squad/dev-v1.1.json", "glove/glove.6B.100d.txt.gz")
        for name in names:
            with pytest.raises(DataError, match="plain or gzipped"):
                make_config(CONFIG, data=str(tmp_path))
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).touch()
        config = make_config(CONFIG, data=str(tmp_path))
        train_path, dev_path, glove = (str(tmp_path / name) for name in names)
        assert config["train_data_path"] == train_path
        assert config["validation_data_path"] == dev_path
        assert config["vocabulary"]["pretrained_files"] == {"tokens": glove}
        embedders = config["model"]["text_field_embedder"]["token_embedders"]
        assert embedders["tokens"]["pretrained_file"] == glove

    def test_time_of_several_sittings(self) -> None:
        curve = [
            measured(1, "0:01:00.5"),
            measured(2, "0:02:00.5"),
            # The second sitting begins.
            measured(3, "0:00:59.5"),
            measured(4, "1 day, 0:00:59.5"),
        ]
        assert training_minutes(curve) == pytest.approx(2 + 1 + 24 * 60)

    def test_bad_input(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="root of the repository"):
            make_config(str(tmp_path / "no.jsonnet"))
        with pytest.raises(DataError, match="1 or more, not 0"):
            make_config(CONFIG, steps_per_score=0)

import json
from pathlib import Path
from typing import Any, Dict, List

import pytest

from bidaf_plugin.analysis.files import read_gold_paragraphs
from bidaf_plugin.archives import load_span_predictor
from bidaf_plugin.commands.train import report
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.training.runs import train_runs
from tests.cloze_helpers import tiny_cloze_params
from tests.commands.helpers import run_action
from tests.helpers import TINY_SQUAD, tiny_params


class TestTrainEnsemble:
    def test_trains_what_is_missing_and_reports(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        config = tiny_params()
        archives = train_runs(config, str(tmp_path), 2)
        assert archives == [str(tmp_path / f"run_{n}" / "model.tar.gz") for n in (1, 2)]

        # A finished run is left alone, an interrupted one goes on.
        (tmp_path / "run_2" / "metrics.json").unlink()
        calls: List[Any] = []
        monkeypatch.setattr(
            "bidaf_plugin.training.runs.train_model",
            lambda params, folder, recover, **kwargs: calls.append((Path(folder).name, recover)),
        )
        assert train_runs(config, str(tmp_path), 2) == archives
        assert calls == [("run_2", True)]
        with pytest.raises(DataError, match="run_1 was begun with other settings"):
            train_runs(tiny_params("hidden_size:: 6"), str(tmp_path), 2)

        table = report(archives, read_gold_paragraphs(TINY_SQUAD), str(tmp_path))
        assert (tmp_path / "scores.txt").read_text() == table + "\n"
        scores: List[Dict[str, Any]] = json.loads((tmp_path / "scores.json").read_text())
        names = [score["answers_of"] for score in scores]
        assert names == [*archives, "votes", "spans", "mean", "product"]
        for rule in names[2:]:
            assert len(json.loads((tmp_path / f"predictions.{rule}.json").read_text())) == 5
        predictor = load_span_predictor(str(tmp_path / "model.tar.gz"))
        assert predictor.predict("Who?", "It was Ada Orn.")["best_span_str"]

    def test_bad_settings(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="at least one"):
            train_runs(tiny_params(), str(tmp_path), 0)
        with pytest.raises(DataError, match="'span'"):
            train_runs(tiny_cloze_params(), str(tmp_path), 2)
        assert not list(tmp_path.iterdir())

    def test_data_without_answers_is_refused_before_anything_is_trained(
        self, tmp_path: Path
    ) -> None:
        squad = json.loads(Path(TINY_SQUAD).read_text())
        squad["data"][0]["paragraphs"][0]["qas"][0]["answers"] = []
        path, config, runs = (tmp_path / name for name in ("data.json", "config.json", "runs"))
        path.write_text(json.dumps(squad))
        config.write_text(json.dumps({**tiny_params(), "validation_data_path": None}))
        with pytest.raises(DataError, match="neither a gold answer"):
            run_action("train-ensemble", config, "-s", runs, "--data", path)
        with pytest.raises(DataError, match="no validation data: give a SQuAD file with --data"):
            run_action("train-ensemble", config, "-s", runs)
        assert not runs.exists()

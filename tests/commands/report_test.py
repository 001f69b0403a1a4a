import json
import shutil
from pathlib import Path

import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params

from bidaf_plugin.common.errors import DataError
from tests.analysis.run_helpers import write_run
from tests.analysis.squad_helpers import write
from tests.commands.helpers import run_action
from tests.helpers import ROOT, TINY_SQUAD, tiny_params
from tests.html_helpers import Page


class TestReport:
    def test_a_run_in_progress(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        run_action("report", write_run(tmp_path / "run"), "-o", tmp_path / "report.html")
        assert "3 epochs" in capsys.readouterr().out
        page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
        assert page.texts["title"][0] == "Training run run" and page.count("svg") == 2
        page.assert_loads_nothing()

    def test_the_model_answers_the_data(self, tiny_archive: Path, tmp_path: Path) -> None:
        page_path = tmp_path / "report.html"
        run_action("report", tiny_archive.parent, "--data", TINY_SQUAD, "-o", page_path, "-n", 2)
        page = Page(page_path.read_text(encoding="utf-8"))
        metrics = json.loads((tiny_archive.parent / "metrics.json").read_text())
        assert {"Sample answers", "Errors"} <= set(page.texts["h2"])
        # The model's own score on the same data.
        assert f"{metrics['best_validation_f1']:.2f}" in page.texts["b"]
        assert page.texts["summary"].count("Attention") == 2

    def test_the_best_weights_answer_before_there_is_an_archive(
        self, tiny_archive: Path, tmp_path: Path
    ) -> None:
        run = tmp_path / "run"
        ignored = shutil.ignore_patterns("model.tar.gz", "metrics.json", "*_state_*")
        shutil.copytree(tiny_archive.parent, run, ignore=ignored)
        run_action("report", run, "--data", TINY_SQUAD, "-o", tmp_path / "report.html")
        page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
        assert "in progress, or interrupted" in page.texts["dd"] and "Errors" in page.texts["h2"]

    def test_a_model_without_an_attention_layer(self, tmp_path: Path) -> None:
        config = tiny_params("attention:: 'dynamic'")
        train_model(Params(config), str(tmp_path / "run"))
        run_action("report", tmp_path / "run", "--data", TINY_SQUAD, "-o", tmp_path / "report.html")
        page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
        assert "Sample answers" in page.texts["h2"] and "Attention" not in page.texts["summary"]

    def test_given_predictions(self, tmp_path: Path) -> None:
        predictions = write(tmp_path / "p.json", {})
        run = write_run(tmp_path / "run")
        page_path = tmp_path / "report.html"
        run_action(
            "report", run, "--data", TINY_SQUAD, "--predictions", predictions, "-o", page_path
        )
        assert "0.00" in Page(page_path.read_text(encoding="utf-8")).texts["b"]

    def test_what_does_not_fit_is_one_sentence(self, tmp_path: Path) -> None:
        run, page = write_run(tmp_path / "run"), tmp_path / "report.html"
        with pytest.raises(DataError, match="there is no model yet"):
            run_action("report", run, "--data", TINY_SQUAD, "-o", page)
        with pytest.raises(DataError, match="--predictions needs --data"):
            run_action("report", run, "--predictions", "x", "-o", page)
        with pytest.raises(DataError, match="-n must not be negative"):
            run_action("report", run, "-n", "-1", "-o", page)
        with pytest.raises(DataError, match="there is no such folder"):
            run_action("report", tmp_path / "none", "-o", page)
        with pytest.raises(DataError, match="there is no such folder"):
            run_action("report", run, "-o", tmp_path / "none" / "report.html")
        assert not page.exists()


class TestTable:
    def test_a_config_that_is_no_object(self, tmp_path: Path) -> None:
        path = tmp_path / "config.json"
        path.write_text('[{"model": {}}]')
        with pytest.raises(DataError, match=f"{path}: the config must be a JSON object"):
            run_action("table", path)

    def test_what_cannot_be_shown(self) -> None:
        config = ROOT / "training_configs" / "bidaf_squad.jsonnet"
        with pytest.raises(
            DataError, match="no key 'hidden_size'; choices, like hidden_size, stand"
        ):
            run_action("table", config, "-o", '{"hidden_size": 50}')
        with pytest.raises(DataError, match="training_configs: this is a folder"):
            run_action("table", ROOT / "training_configs")

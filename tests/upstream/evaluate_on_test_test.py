from pathlib import Path
from shutil import copy
from typing import Any, Dict

import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.training import util as training_util

from bidaf_plugin.upstream import apply_upstream_fixes
from tests.cloze_helpers import TINY_CLOZE, UNANSWERABLE_CLOZE, tiny_cloze_params
from tests.command_line_test import read_metrics


class TestEvaluateOnTest:
    """Of distributed training: see the tests of the command line."""

    def test_batches_without_a_loss(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        data.mkdir()
        for path in [*TINY_CLOZE.iterdir(), *UNANSWERABLE_CLOZE.iterdir()]:
            copy(path, data)
        params: Dict[str, Any] = tiny_cloze_params("batch_size:: 1, num_epochs:: 1")
        params.update(test_data_path=str(data), evaluate_on_test=True)
        train_model(Params(params), str(tmp_path / "run"))
        metrics = read_metrics(tmp_path / "run")
        # Two questions more, which count as answered wrongly.
        assert metrics["test_accuracy"] == pytest.approx(
            metrics["best_validation_accuracy"] * 6 / 8
        )
        assert metrics["test_loss"] == pytest.approx(metrics["best_validation_loss"])
        assert (tmp_path / "run" / "model.tar.gz").exists()

    def test_is_installed_once(self) -> None:
        evaluate = training_util.evaluate
        apply_upstream_fixes()
        assert training_util.evaluate is evaluate

import random
from copy import deepcopy
from pathlib import Path
from shutil import copy
from typing import Any, Dict, List, Set, Tuple

import numpy
import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.training import Trainer
from allennlp.training import util as training_util

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.fast import products
from bidaf_plugin.models import AttentionFlow
from bidaf_plugin.upstream import apply_upstream_fixes, trainer
from bidaf_plugin.upstream.trainer import CarefulValidationTrainer, _untouched_random_numbers
from tests.cloze_helpers import TINY_CLOZE, UNANSWERABLE_CLOZE, tiny_cloze_params, write_folder
from tests.command_line_test import read_metrics
from tests.helpers import TINY_SQUAD, tiny_params


class TestCarefulValidationTrainer:
    def test_training_without_data_is_an_error(self, tmp_path: Path) -> None:
        # Each of two readers skips its only question, and cannot know that the other does, too.
        bad = write_folder(tmp_path / "bad", 0, {"1.question": "", "2.question": ""})
        params: Dict[str, Any] = tiny_cloze_params(f"train_data:: '{bad}'")
        params["datasets_for_vocab_creation"] = ["validation"]
        params["data_loader"]["num_workers"] = 2
        with pytest.raises(DataError, match="no batch to train on: no training question"):
            train_model(Params(params), str(tmp_path / "run"))
        assert not (tmp_path / "run" / "model.tar.gz").exists()

    def test_misspelt_keys_are_an_error(self, tmp_path: Path) -> None:
        params: Dict[str, Any] = tiny_cloze_params()
        params["trainer"]["num_epoch"] = 1
        with pytest.raises(
            ConfigurationError, match="has no 'num_epoch'; did you mean 'num_epochs'"
        ):
            train_model(Params(params), str(tmp_path / "run"))

    @pytest.mark.parametrize("num_epochs", [0, -1, 10**15])
    def test_the_number_of_epochs_is_checked(self, num_epochs: int, tmp_path: Path) -> None:
        params: Dict[str, Any] = tiny_cloze_params()
        params["trainer"]["num_epochs"] = num_epochs
        with pytest.raises(ConfigurationError, match="trainer.num_epochs must be from 1 to"):
            train_model(Params(params), str(tmp_path / "run"))

    def test_recovering_a_finished_run_changes_nothing(self, tmp_path: Path) -> None:
        params: Dict[str, Any] = tiny_params("num_epochs:: 2")
        params.update(test_data_path=str(TINY_SQUAD), evaluate_on_test=True)
        train_model(Params(deepcopy(params)), str(tmp_path))
        metrics = read_metrics(tmp_path)
        assert {"training_duration", "peak_worker_0_memory_MB", "test_em"} <= set(metrics)
        train_model(Params(params), str(tmp_path), recover=True)
        assert read_metrics(tmp_path) == metrics

    @pytest.mark.parametrize("is_faster", [True, False])
    def test_mixed_precision_on_the_cpu_is_for_training_alone(
        self, is_faster: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        modes: Set[Tuple[bool, torch.dtype]] = set()
        warnings: List[str] = []
        forward = AttentionFlow.forward

        def spy(model: AttentionFlow, *args: Any, **kwargs: Any) -> Any:
            modes.add((model.training, products.product_type(next(model.parameters()))))
            return forward(model, *args, **kwargs)

        monkeypatch.setattr(products, "multiplies_bfloat16", lambda: is_faster)
        monkeypatch.setattr(AttentionFlow, "forward", spy)
        monkeypatch.setattr(trainer.logger, "warning", warnings.append)
        train_model(Params(tiny_params("mixed_precision:: true")), str(tmp_path))
        of_training = torch.bfloat16 if is_faster else torch.float32
        assert modes == {(True, of_training), (False, torch.float32)}
        assert any("use_amp has no effect" in warning for warning in warnings) != is_faster

    @pytest.mark.parametrize("content", [b"\xff", b"[" * 100_000, b"[]", b"9" * 5_000])
    def test_recovering_does_without_damaged_metrics(self, content: bytes, tmp_path: Path) -> None:
        params: Dict[str, Any] = tiny_cloze_params()
        train_model(Params(deepcopy(params)), str(tmp_path))
        best = read_metrics(tmp_path)["best_validation_accuracy"]
        (tmp_path / "metrics_epoch_0.json").write_bytes(content)
        train_model(Params(params), str(tmp_path), recover=True)
        assert read_metrics(tmp_path)["best_validation_accuracy"] == best

    def test_a_run_that_ran_out_of_patience_is_finished(self, tmp_path: Path) -> None:
        params: Dict[str, Any] = tiny_params("num_epochs:: 5")
        params["trainer"].update(patience=1, optimizer={"type": "sgd", "lr": 0.0})
        train_model(Params(deepcopy(params)), str(tmp_path))
        metrics = read_metrics(tmp_path)
        assert metrics["epoch"] == 1
        train_model(Params(params), str(tmp_path), recover=True)
        assert read_metrics(tmp_path) == metrics
        assert not (tmp_path / "metrics_epoch_2.json").exists()

    def test_validation_leaves_the_random_numbers_of_training_alone(self) -> None:
        state = random.getstate(), numpy.random.get_state(legacy=False)["state"]["key"].tolist()
        with _untouched_random_numbers():
            random.random(), numpy.random.rand()
            assert random.getstate() != state[0]
        assert (
            random.getstate(),
            numpy.random.get_state(legacy=False)["state"]["key"].tolist(),
        ) == state

    def test_is_what_a_config_gets(self) -> None:
        assert Trainer.by_name(Trainer.default_implementation).__self__ is CarefulValidationTrainer


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

from copy import deepcopy
from pathlib import Path
from typing import Any, Dict, List, Set, Tuple

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.fast import products
from bidaf_plugin.models import AttentionFlow
from bidaf_plugin.upstream import careful_validation_trainer
from tests.cloze_helpers import tiny_cloze_params, write_folder
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
        monkeypatch.setattr(careful_validation_trainer.logger, "warning", warnings.append)
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

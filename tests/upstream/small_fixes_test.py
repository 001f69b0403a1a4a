"""
The repairs of bidaf_plugin/upstream/ which are not tested with their own module.
"""

import json
import multiprocessing
import random
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any, Dict

import numpy
import pytest
import torch
from allennlp.commands.train import train_model, train_model_from_file
from allennlp.common import Params
from allennlp.common import util as allennlp_util
from allennlp.common.checks import ConfigurationError
from allennlp.models import Model
from allennlp.training import Checkpointer, Trainer
from allennlp.training.checkpointer import Checkpointer as AllenNlpCheckpointer
from allennlp.training.learning_rate_schedulers import LearningRateScheduler
from allennlp.training.learning_rate_schedulers.pytorch_lr_schedulers import (
    ReduceOnPlateauLearningRateScheduler,
)
from allennlp.training.trainer import TrainerCheckpoint

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.upstream import AtomicCheckpointer, CarefulValidationTrainer, RandomStateCallback
from bidaf_plugin.upstream.careful_validation_trainer import _untouched_random_numbers
from bidaf_plugin.upstream.small_fixes import let_workers_end


def make_optimizer() -> torch.optim.Optimizer:
    return torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), lr=1.0)


class FakeTrainer:
    """Just what a checkpointer needs."""

    def __init__(self, weight: Any) -> None:
        self.weight = weight

    def get_checkpoint_state(self) -> TrainerCheckpoint:
        state: Dict[str, Any] = {"epochs_completed": 1, "batches_in_epoch_completed": 0}
        return TrainerCheckpoint({"weight": self.weight}, state)


class DiesWhileSaved:
    def __reduce__(self) -> Any:
        raise KeyboardInterrupt


class TestReduceOnPlateau:
    def test_works_with_the_current_torch(self) -> None:
        scheduler = LearningRateScheduler.from_params(
            Params({"type": "reduce_on_plateau", "factor": 0.5, "patience": 0}),
            optimizer=make_optimizer(),
        )
        for metric in (1.0, 2.0):
            scheduler.step(metric)
        assert scheduler.lr_scheduler.optimizer.param_groups[0]["lr"] == 0.5

    def test_is_still_needed(self) -> None:
        with pytest.raises(TypeError, match="verbose"):
            ReduceOnPlateauLearningRateScheduler(make_optimizer())


class TestAllowNumpyNumbers:
    @pytest.mark.parametrize("number", [numpy.float64(0.5), numpy.float32(0.5), numpy.int64(3)])
    def test_a_training_state_may_hold_numpy_numbers(self, number: Any, tmp_path: Path) -> None:
        path = tmp_path / "state.th"
        torch.save({"best": number}, path)
        assert torch.load(path)["best"] == number
        # And it is the fix that allows it.
        allowed = torch.serialization.get_safe_globals()
        torch.serialization.clear_safe_globals()
        try:
            with pytest.raises(Exception, match="weights_only|Unsupported|Weights only"):
                torch.load(path)
        finally:
            torch.serialization.add_safe_globals(allowed)

    def test_code_is_still_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "state.th"
        torch.save({"evil": print}, path)
        with pytest.raises(Exception, match="[Ww]eights"):
            torch.load(path)


class TestSilenceKnownWarnings:
    def test_only_the_known_warnings_are_silenced(self) -> None:
        from bidaf_plugin.upstream.small_fixes import silence_known_warnings

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            silence_known_warnings()
            torch.cuda.amp.autocast(False)
            warnings.warn("something else", FutureWarning, stacklevel=1)
        assert [str(warning.message) for warning in caught] == ["something else"]


class TestSuggestNames:
    def test_a_misspelt_name_is_explained_without_nltk(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module in ("nltk", "nltk.metrics", "nltk.metrics.distance"):
            monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ConfigurationError, match="did you mean 'attention_flow'"):
            Model.by_name("atention_flow")


class TestAtomicCheckpointer:
    def test_a_save_that_dies_leaves_the_last_checkpoint_in_force(self, tmp_path: Path) -> None:
        for checkpointer_class, survives in (
            (AllenNlpCheckpointer, False),
            (AtomicCheckpointer, True),
        ):
            folder = tmp_path / checkpointer_class.__name__
            folder.mkdir()
            checkpointer = checkpointer_class(str(folder))
            with pytest.raises(KeyboardInterrupt):
                checkpointer.save_checkpoint(FakeTrainer(DiesWhileSaved()))
            assert (checkpointer.find_latest_checkpoint() is None) == survives

    def test_saves_and_loads(self, tmp_path: Path) -> None:
        checkpointer = Checkpointer.from_params(Params({}), serialization_dir=str(tmp_path))
        assert isinstance(checkpointer, AtomicCheckpointer)
        checkpointer.save_checkpoint(FakeTrainer(torch.ones(2)))
        state = checkpointer.load_checkpoint()
        assert state is not None and state.model_state["weight"].tolist() == [1, 1]
        assert not list(tmp_path.glob("*.tmp"))


class TestRandomStateCallback:
    def test_is_among_the_default_callbacks_once(self) -> None:
        from allennlp.training.gradient_descent_trainer import DEFAULT_CALLBACKS

        from bidaf_plugin.upstream import apply_upstream_fixes

        apply_upstream_fixes()
        assert list(DEFAULT_CALLBACKS).count(RandomStateCallback) == 1


class TestCarefulValidationTrainer:
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


class TestCheckBeforeTraining:
    @pytest.mark.parametrize("config", [[], "x", None, 1])
    def test_a_config_is_an_object(self, config: Any, tmp_path: Path) -> None:
        path = tmp_path / "config.json"
        path.write_text(json.dumps(config))
        with pytest.raises(DataError, match="the config must be a JSON object, found"):
            train_model_from_file(path, tmp_path / "run")
        assert not (tmp_path / "run").exists()

    def test_numbers_fit_into_a_machine(self, tmp_path: Path) -> None:
        config = {"data_loader": {"max_instances_in_memory": 10**30}}
        with pytest.raises(
            DataError, match="in the config: data_loader.max_instances_in_memory: 1"
        ):
            train_model(Params(config), str(tmp_path / "run"))
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize(
        "content, message",
        [
            ('{"model": {}}', "was begun with another config, which has no 'model.type'"),
            ("[]", "config.json: the config must be a JSON object"),
            ("\xff", "config.json: not plain JSON"),
        ],
    )
    def test_another_config_in_the_folder(self, content: str, message: str, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_bytes(content.encode("latin-1"))
        with pytest.raises(DataError, match=message):
            train_model(Params({"model": {"type": "x"}}), str(tmp_path), recover=True)


class TestLetWorkersEnd:
    def test_forked_processes_end_without_a_traceback(self) -> None:
        previous = signal.getsignal(signal.SIGTERM)
        # As the command does before it knows of plugins.
        allennlp_util.install_sigterm_handler()
        try:
            let_workers_end()
            context = multiprocessing.get_context("fork")
            is_there = context.Event()

            def wait_for_the_end() -> None:
                is_there.set()
                time.sleep(60)

            process = context.Process(target=wait_for_the_end)
            process.start()
            assert is_there.wait(30)
            process.terminate()
            process.join(30)
            # Killed by the signal, and not by an exception.
            assert process.exitcode == -signal.SIGTERM
            with pytest.raises(allennlp_util.SigTermReceived):
                signal.raise_signal(signal.SIGTERM)
        finally:
            signal.signal(signal.SIGTERM, previous)

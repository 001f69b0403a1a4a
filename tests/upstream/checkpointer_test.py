import json
from copy import deepcopy
from pathlib import Path
from typing import Any, Dict

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.util import SigTermReceived
from allennlp.training import Checkpointer
from allennlp.training.checkpointer import Checkpointer as AllenNlpCheckpointer
from allennlp.training.trainer import TrainerCheckpoint

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.upstream.checkpoints import AtomicCheckpointer
from tests.disk_helpers import nearly_full_disk
from tests.helpers import tiny_params


class FakeTrainer:
    """Just what a checkpointer needs."""

    def __init__(self, epoch: int, weight: Any = None) -> None:
        self.epoch = epoch
        self.weight = torch.full((1000,), float(epoch)) if weight is None else weight

    def get_checkpoint_state(self) -> TrainerCheckpoint:
        state: Dict[str, Any] = {"epochs_completed": self.epoch, "batches_in_epoch_completed": 0}
        return TrainerCheckpoint({"weight": self.weight}, state)


class DiesWhileSaved:
    def __reduce__(self) -> Any:
        raise KeyboardInterrupt


def save_epochs(folder: Path, *epochs: int) -> AtomicCheckpointer:
    checkpointer = AtomicCheckpointer(str(folder))
    for epoch in epochs:
        checkpointer.save_checkpoint(FakeTrainer(epoch))
    return checkpointer


def loaded_epoch(checkpointer: AtomicCheckpointer) -> int:
    state = checkpointer.load_checkpoint()
    assert state is not None
    # Both states are of one point in time.
    assert state.model_state["weight"][0] == state.trainer_state["epochs_completed"]
    return state.trainer_state["epochs_completed"]


def cut(path: Path, share: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])


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
                checkpointer.save_checkpoint(FakeTrainer(1, DiesWhileSaved()))
            assert (checkpointer.find_latest_checkpoint() is None) == survives

    def test_saves_and_loads(self, tmp_path: Path) -> None:
        checkpointer = Checkpointer.from_params(Params({}), serialization_dir=str(tmp_path))
        assert isinstance(checkpointer, AtomicCheckpointer)
        checkpointer.save_checkpoint(FakeTrainer(1))
        state = checkpointer.load_checkpoint()
        assert state is not None and state.model_state["weight"][0] == 1
        assert not list(tmp_path.glob("*.tmp"))

    @pytest.mark.parametrize("name", ["model_state_e2_b0.th", "training_state_e2_b0.th"])
    @pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
    def test_a_truncated_checkpoint_gives_way_to_the_one_before(
        self, name: str, share: float, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        checkpointer = save_epochs(tmp_path, 1, 2)
        cut(tmp_path / name, share)
        assert loaded_epoch(checkpointer) == 1
        (message,) = caplog.messages
        assert "model_state_e2_b0.th or its training state is truncated or damaged" in message
        assert "training goes on from the checkpoint before it" in message
        # Nor does it pass for the newest later on.
        assert checkpointer.find_latest_checkpoint()[0].endswith("model_state_e1_b0.th")
        save_epochs(tmp_path, 2)
        assert loaded_epoch(checkpointer) == 2

    def test_a_training_state_that_is_missing(self, tmp_path: Path) -> None:
        checkpointer = save_epochs(tmp_path, 1, 2)
        (tmp_path / "training_state_e2_b0.th").unlink()
        assert loaded_epoch(checkpointer) == 1

    def test_without_a_checkpoint_before_it_a_damaged_one_is_an_error(self, tmp_path: Path) -> None:
        checkpointer = save_epochs(tmp_path, 1)
        cut(tmp_path / "model_state_e1_b0.th", 0.5)
        with pytest.raises(DataError, match="e1_b0.th .* and there is no checkpoint before it"):
            checkpointer.load_checkpoint()
        # Whoever has a copy can put it there.
        assert (tmp_path / "model_state_e1_b0.th").exists()

    def test_being_told_to_end_is_no_damage(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def end(*args: Any, **kwargs: Any) -> None:
            raise SigTermReceived

        checkpointer = save_epochs(tmp_path, 1, 2)
        monkeypatch.setattr(torch, "load", end)
        with pytest.raises(SigTermReceived):
            checkpointer.load_checkpoint()
        assert (tmp_path / "model_state_e2_b0.th").exists()

    def test_a_full_disk_leaves_the_last_checkpoint(self, tmp_path: Path) -> None:
        checkpointer = save_epochs(tmp_path, 1)
        names = sorted(path.name for path in tmp_path.iterdir())
        with pytest.raises(OSError, match="File too large") as raised, nearly_full_disk(2500):
            checkpointer.save_checkpoint(FakeTrainer(2))
        assert raised.value.filename == str(tmp_path / "model_state_e2_b0.th")
        # The training state comes first, and was small enough; it is no checkpoint alone.
        names.append("training_state_e2_b0.th")
        assert sorted(path.name for path in tmp_path.iterdir()) == names
        assert loaded_epoch(checkpointer) == 1

    def test_training_goes_on_before_the_damage(self, tmp_path: Path) -> None:
        params = tiny_params("num_epochs:: 3")
        metrics = []
        for name in ("whole", "damaged"):
            train_model(Params(deepcopy(params)), str(tmp_path / name))
            if name == "damaged":
                cut(tmp_path / name / "model_state_e3_b0.th", 0.5)
                train_model(Params(deepcopy(params)), str(tmp_path / name), recover=True)
            metrics.append(json.loads((tmp_path / name / "metrics.json").read_text()))
        assert metrics[0]["training_loss"] == metrics[1]["training_loss"]
        assert metrics[0]["best_validation_loss"] == metrics[1]["best_validation_loss"]

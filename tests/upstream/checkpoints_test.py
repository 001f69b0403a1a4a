import json
import re
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, List, Tuple

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.training.gradient_descent_trainer import DEFAULT_CALLBACKS

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.upstream import apply_upstream_fixes
from bidaf_plugin.upstream.checkpoints import (
    AtomicCheckpointer,
    EpochSoFarCallback,
    RandomStateCallback,
)
from tests.cloze_helpers import tiny_cloze_params
from tests.helpers import SAMPLE_V2, tiny_params

CPU = torch.device("cpu")


class FakeGpus:
    """torch.cuda's random states, on a machine with so many GPUs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
        self.states = [torch.tensor([gpu], dtype=torch.uint8) for gpu in range(number)]
        monkeypatch.setattr("torch.cuda.is_available", lambda: number > 0)
        monkeypatch.setattr("torch.cuda.get_rng_state", self.get)
        monkeypatch.setattr("torch.cuda.set_rng_state", self.set)
        monkeypatch.setattr("torch.cuda.get_rng_state_all", lambda: self.states)
        monkeypatch.setattr("torch.cuda.set_rng_state_all", self.set_all)

    def get(self, device: torch.device) -> torch.Tensor:
        return self.states[device.index]

    def set(self, state: torch.Tensor, device: torch.device) -> None:
        self.states[device.index] = state

    def set_all(self, states: List[torch.Tensor]) -> None:
        for gpu, state in enumerate(states):
            self.states[gpu] = state


def start(
    state: Dict[str, Any], device: torch.device = CPU, is_primary: bool = True
) -> RandomStateCallback:
    """What the trainer does: the checkpoint is loaded, then training starts."""
    callback = RandomStateCallback("")
    callback.load_state_dict(state)
    callback.on_start(SimpleNamespace(cuda_device=device), is_primary=is_primary)
    return callback


def use_rank(monkeypatch: pytest.MonkeyPatch, rank: int) -> None:
    module = "bidaf_plugin.upstream.checkpoints"
    monkeypatch.setattr(f"{module}.is_distributed", lambda: True)
    monkeypatch.setattr("torch.distributed.get_rank", lambda: rank)


class TestRandomStateCallback:
    def test_dropout_goes_on_where_the_checkpoint_was_made(self) -> None:
        state = start({}).state_dict()
        expected = torch.rand(3)
        torch.rand(100)
        callback = start(state)
        assert torch.equal(torch.rand(3), expected)
        # Once only.
        callback.on_start(SimpleNamespace(cuda_device=CPU))
        assert not torch.equal(torch.rand(3), expected)

    def test_a_new_run_and_a_checkpoint_without_the_plugin_change_nothing(self) -> None:
        torch.manual_seed(5)
        expected = torch.rand(3)
        torch.manual_seed(5)
        start({})
        assert torch.equal(torch.rand(3), expected)

    def test_keeps_the_state_of_the_gpu_in_use_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        gpus = FakeGpus(monkeypatch, 4)
        state = start({}, torch.device("cuda", 2)).state_dict()
        assert state["gpu"].tolist() == [2]
        gpus.states = [torch.tensor([9], dtype=torch.uint8) for _ in range(4)]
        start(state, torch.device("cuda", 1))
        assert [item.tolist() for item in gpus.states] == [[9], [2], [9], [9]]

    def test_a_machine_with_fewer_gpus_will_do(self, monkeypatch: pytest.MonkeyPatch) -> None:
        FakeGpus(monkeypatch, 4)
        state = start({}, torch.device("cuda", 3)).state_dict()
        expected = torch.rand(3)
        for number, device in ((1, torch.device("cuda", 0)), (0, CPU)):
            gpus = FakeGpus(monkeypatch, number)
            start(state, device)
            assert torch.equal(torch.rand(3), expected)
            assert [item.tolist() for item in gpus.states] == [[3]] * number
        # And the other way round.
        FakeGpus(monkeypatch, 0)
        state = start({}).state_dict()
        gpus = FakeGpus(monkeypatch, 1)
        start(state, torch.device("cuda", 0))
        assert gpus.states[0].tolist() == [0]

    def test_processes_go_on_with_different_numbers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        state = start({}).state_dict()
        expected = torch.rand(3)
        drawn = []
        for rank in (0, 1, 2):
            use_rank(monkeypatch, rank)
            start(state, is_primary=rank == 0)
            drawn.append(tuple(torch.rand(3).tolist()))
        # The first one wrote the checkpoint.
        assert drawn[0] == tuple(expected.tolist())
        assert len(set(drawn)) == 3


class TestHosts:
    """Each has checkpoints of its own."""

    def load(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *others: Tuple[int, int]) -> Any:
        """What a host loads if these are the places of the newest checkpoints of others."""

        def all_gather(places: List[Any], place: Any) -> None:
            places[:] = [place, *others]

        use_rank(monkeypatch, 0)
        monkeypatch.setattr("torch.distributed.get_world_size", lambda: 1 + len(others))
        monkeypatch.setattr("torch.distributed.all_gather_object", all_gather)
        return AtomicCheckpointer(str(folder)).load_checkpoint()

    def test_go_on_from_the_oldest_of_the_newest_checkpoints(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for epoch, batch in ((1, 0), (1, 4), (2, 0)):
            for kind, state in (
                ("model", {"place": torch.tensor([epoch, batch])}),
                ("training", {"epochs_completed": epoch, "batches_in_epoch_completed": batch}),
            ):
                torch.save(state, tmp_path / f"{kind}_state_e{epoch}_b{batch}.th")
        for others, expected in (
            ([(2, 0), (2, 0)], [2, 0]),
            ([(3, 0), (2, 5)], [2, 0]),
            ([(2, 0), (1, 4)], [1, 4]),
        ):
            loaded = self.load(tmp_path, monkeypatch, *others)
            assert loaded.model_state["place"].tolist() == expected
            assert loaded.trainer_state["epochs_completed"] == expected[0]
        assert self.load(tmp_path, monkeypatch, (-1, -1)) is None
        with pytest.raises(DataError, match="model_state_e1_b2.th is not here, from which another"):
            self.load(tmp_path, monkeypatch, (1, 2))


# Five batches in an epoch.
SMALL_BATCHES = "num_epochs:: 2, batch_size:: 1"


class Killed(Exception):
    """Stands for what ends a process at once."""


def with_checkpoints(params: Dict[str, Any]) -> Dict[str, Any]:
    """A checkpoint after every batch."""
    params["trainer"]["checkpointer"] = {"save_every_num_batches": 1}
    return params


def train(params: Dict[str, Any], folder: Path, recover: bool = False) -> None:
    train_model(Params(deepcopy(params)), str(folder), recover=recover)


def train_and_kill(
    params: Dict[str, Any], folder: Path, point: Tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trains until a checkpoint is there: so many whole epochs, and batches of the next."""
    save = AtomicCheckpointer.save_checkpoint

    def save_and_die(self: AtomicCheckpointer, trainer: Any) -> None:
        save(self, trainer)
        if (trainer._epochs_completed, trainer._batches_in_epoch_completed) == point:
            raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(AtomicCheckpointer, "save_checkpoint", save_and_die)
        train(params, folder)
    assert not (folder / "metrics.json").exists()


def all_metrics(folder: Path) -> Dict[str, Dict[str, float]]:
    """Of each epoch and of the end, but for durations and memory."""
    return {
        path.name: {
            name: value
            for name, value in json.loads(path.read_text()).items()
            if not re.search("duration|memory", name)
        }
        for path in folder.glob("metrics*.json")
    }


class TestEpochSoFarCallback:
    @pytest.mark.parametrize("point", [(0, 3), (1, 2), (1, 5), (1, 0)])
    def test_a_resumed_run_has_the_metrics_of_one_that_was_not_interrupted(
        self, point: Tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # In the first epoch, in the last one, after the last batch of it, and between the two.
        params = with_checkpoints(tiny_params(SMALL_BATCHES))
        train(params, tmp_path / "whole")
        train_and_kill(params, tmp_path / "killed", point, monkeypatch)
        train(params, tmp_path / "killed", recover=True)
        expected = all_metrics(tmp_path / "whole")
        assert expected["metrics.json"]["training_loss"] > 0
        assert {"training_em", "training_span_accuracy"} <= set(expected["metrics.json"])
        assert all_metrics(tmp_path / "killed") == expected

    @pytest.mark.parametrize("kind", ["questions without an answer", "cloze", "penalty"])
    def test_other_models_and_losses(
        self, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if kind == "cloze":
            params = tiny_cloze_params(SMALL_BATCHES)
        elif kind == "penalty":
            params = tiny_params(SMALL_BATCHES)
            penalty = {"type": "l2", "alpha": 0.01}
            params["model"]["regularizer"] = {"regexes": [[".*", penalty]]}
            params["trainer"]["num_gradient_accumulation_steps"] = 2
        else:
            data = f"train_data:: '{SAMPLE_V2}', dev_data:: '{SAMPLE_V2}'"
            choices = f"num_epochs:: 2, batch_size:: 10, {data}"
            params = tiny_params(choices, "bidaf_squad2.jsonnet")
        params = with_checkpoints(params)
        train(params, tmp_path / "whole")
        train_and_kill(params, tmp_path / "killed", (1, 2), monkeypatch)
        train(params, tmp_path / "killed", recover=True)
        expected, metrics = all_metrics(tmp_path / "whole"), all_metrics(tmp_path / "killed")
        assert list(metrics) and set(metrics) == set(expected)
        for name in expected:
            assert metrics[name] == pytest.approx(expected[name], rel=1e-12), name
        assert ("training_reg_loss" in metrics["metrics.json"]) == (kind == "penalty")

    def test_a_checkpoint_holds_nothing_but_plain_data(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        params = with_checkpoints(tiny_params(SMALL_BATCHES))
        train_and_kill(params, tmp_path / "run", (0, 2), monkeypatch)
        state = torch.load(tmp_path / "run" / "training_state_e0_b2.th", weights_only=True)
        (so_far,) = (item for item in state["callbacks"] if "num_batches" in item)
        assert so_far["num_batches"] == 2
        # Exact match and F1, and the accuracies of spans, of two questions each.
        assert [(len(sums), count) for sums, count in so_far["metrics"]] == [(2, 2), (3, 2)]


def test_both_are_among_the_default_callbacks_once() -> None:
    apply_upstream_fixes()
    for callback in (RandomStateCallback, EpochSoFarCallback):
        assert list(DEFAULT_CALLBACKS).count(callback) == 1

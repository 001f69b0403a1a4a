from types import SimpleNamespace
from typing import Any, Dict, List

import pytest
import torch

from bidaf_plugin.upstream import RandomStateCallback

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


def start(state: Dict[str, Any], device: torch.device = CPU) -> RandomStateCallback:
    """What the trainer does: the checkpoint is loaded, then training starts."""
    callback = RandomStateCallback("")
    callback.load_state_dict(state)
    callback.on_start(SimpleNamespace(cuda_device=device))
    return callback


def use_rank(monkeypatch: pytest.MonkeyPatch, rank: int) -> None:
    module = "bidaf_plugin.upstream.random_state_callback"
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
            start(state)
            drawn.append(tuple(torch.rand(3).tolist()))
        # The first one wrote the checkpoint.
        assert drawn[0] == tuple(expected.tolist())
        assert len(set(drawn)) == 3

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any, Dict, Tuple

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.training.gradient_descent_trainer import DEFAULT_CALLBACKS

from bidaf_plugin.upstream import AtomicCheckpointer, EpochSoFarCallback, apply_upstream_fixes
from tests.cloze_helpers import tiny_cloze_params
from tests.helpers import SAMPLE_V2, tiny_params

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

    def test_is_among_the_default_callbacks_once(self) -> None:
        apply_upstream_fixes()
        assert list(DEFAULT_CALLBACKS).count(EpochSoFarCallback) == 1

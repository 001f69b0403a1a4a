"""
Checkpoints from which training goes on as if it had not been interrupted: how they are written, and what is in
them besides what AllenNLP puts there. Both callbacks are among AllenNLP's default ones as long as the plugin is
loaded. In distributed training only the first process writes checkpoints.
"""

import logging
import os
from contextlib import suppress
from textwrap import shorten
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch
import torch.distributed
from allennlp.common.util import SigTermReceived, is_distributed
from allennlp.nn import util as nn_util
from allennlp.nn.util import dist_reduce_sum
from allennlp.training import Checkpointer, Trainer, TrainerCallback, gradient_descent_trainer
from allennlp.training import util as training_util
from allennlp.training.metrics import Metric
from allennlp.training.trainer import TrainerCheckpoint
from overrides import overrides

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import open_atomically
from bidaf_plugin.training.metrics import MeanOverWorkers
from bidaf_plugin.upstream.replaced_classes import register_instead

logger = logging.getLogger(__name__)


@register_instead(Checkpointer, "default")
class AtomicCheckpointer(Checkpointer):
    """
    AllenNLP's checkpointer, safe against being killed while it writes: a checkpoint is either whole
    or not there. (AllenNLP's own leaves a truncated file, and `--recover` then fails on it.) Where a
    checkpoint is damaged all the same, the one before it is loaded.

    Registered as a `Checkpointer` with name "default", in place of AllenNLP's.
    """

    @overrides
    def save_checkpoint(self, trainer: Trainer) -> None:
        state = trainer.get_checkpoint_state()
        if state is not None:
            model_state, training_state = state
            point = training_state["epochs_completed"], training_state["batches_in_epoch_completed"]
            # A checkpoint is found by its model state, so that one comes last.
            save_atomically(training_state, self._training_state_path(*point))
            save_atomically(model_state, self._model_state_path(*point))
        # AllenNLP writes no file that is there already; it counts, and removes old checkpoints.
        super().save_checkpoint(trainer)

    @overrides
    def load_checkpoint(self) -> Optional[TrainerCheckpoint]:
        checkpoint = self._load_newest()
        return self._agree_on(checkpoint) if is_distributed() else checkpoint

    def _agree_on(self, checkpoint: Optional[TrainerCheckpoint]) -> Optional[TrainerCheckpoint]:
        """
        Every host has checkpoints of its own, and one may have died before it wrote what another has: all go on from
        the oldest of the newest.
        """
        place = _place_of(checkpoint)
        places: List[Tuple[int, int]] = [place] * torch.distributed.get_world_size()
        torch.distributed.all_gather_object(places, place)
        common = min(places)
        if place == common:
            return checkpoint
        if common == _NOWHERE:
            logger.warning("another host has no checkpoint: training begins anew")
            return None
        try:
            return TrainerCheckpoint(
                *(
                    torch.load(path, map_location=nn_util.device_mapping(-1))
                    for path in (
                        self._model_state_path(*common),
                        self._training_state_path(*common),
                    )
                )
            )
        except FileNotFoundError as error:
            raise DataError(
                f"{error.filename} is not here, from which another host wants to go on: copy the folder of one "
                "host to the others"
            ) from error

    def _load_newest(self) -> Optional[TrainerCheckpoint]:
        latest = self.find_latest_checkpoint()
        try:
            return super().load_checkpoint()
        except (MemoryError, PermissionError, SigTermReceived):
            raise
        except Exception as error:
            # Torch raises exceptions of many kinds where a file is not as it was written.
            assert latest is not None
            reason = shorten(str(error), 80)
            sentence = f"{latest[0]} or its training state is truncated or damaged ({reason})"
            if self._find_all_checkpoints() <= {self._parse_model_state_path(latest[0])}:
                raise DataError(f"{sentence}, and there is no checkpoint before it") from error
        logger.warning("%s: training goes on from the checkpoint before it", sentence)
        for path in latest:
            # It must not pass for the newest any more. Another process may have been faster.
            with suppress(FileNotFoundError):
                os.replace(path, f"{path}.damaged")
        return self._load_newest()


# Less than any place in training.
_NOWHERE = (-1, -1)


def _place_of(checkpoint: Optional[TrainerCheckpoint]) -> Tuple[int, int]:
    if checkpoint is None:
        return _NOWHERE
    state = checkpoint.trainer_state
    return state["epochs_completed"], state["batches_in_epoch_completed"]


def save_atomically(state: Any, path: str) -> None:
    """`torch.save` into a file that is either whole or not there."""
    with open_atomically(path, "wb") as file:
        try:
            torch.save(state, file)
        except RuntimeError as error:
            # Torch says in words of its own that a write has failed, and not why.
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None
            raise


class _KeptInCheckpoints(TrainerCallback):
    """Its state is kept in the checkpoints, and given to `restore` when training goes on from one."""

    _loaded_state: Dict[str, Any] = {}

    @overrides
    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        # For which model and on which device is known when training starts, a moment later.
        self._loaded_state = state_dict

    @overrides(check_signature=False)
    def on_start(self, *args: Any, is_primary: bool = True, **kwargs: Any) -> None:
        super().on_start(*args, is_primary=is_primary, **kwargs)
        state, self._loaded_state = self._loaded_state, {}
        self.restore(state, is_primary)

    def restore(self, state: Dict[str, Any], is_primary: bool) -> None:
        """A new run has no such state, nor has a checkpoint of AllenNLP without the plugin."""
        raise NotImplementedError


@TrainerCallback.register("random_state")
class RandomStateCallback(_KeptInCheckpoints):
    """
    Keeps torch's random state in the checkpoints, so that dropout after `allennlp train --recover`
    is what it would have been without the interruption. (The order of the data needs no help:
    AllenNLP replays the data loader, which draws from Python's generator.)

    This holds for training in one process of each host, on the same kind of device. Of several on a host only the
    first goes on with its numbers, and each of the others with new ones of its own.

    Registered as a `TrainerCallback` with name "random_state".
    """

    @overrides
    def state_dict(self) -> Dict[str, Any]:
        device = self._gpu()
        return {
            "cpu": torch.get_rng_state(),
            "gpu": None if device is None else torch.cuda.get_rng_state(device),
        }

    @overrides
    def restore(self, state: Dict[str, Any], is_primary: bool) -> None:
        if "cpu" not in state:
            return
        torch.set_rng_state(state["cpu"].cpu())
        if not is_primary:
            # The state is that of the first process here, and no two should drop the same.
            rank = torch.distributed.get_rank() if is_distributed() else 0
            torch.manual_seed(int(torch.randint(2**31, (1,))) + rank)
            return
        device = self._gpu()
        if device is not None and state.get("gpu") is not None:
            torch.cuda.set_rng_state(state["gpu"].cpu(), device)

    def _gpu(self) -> Optional[torch.device]:
        """The GPU that this process trains on, if it does."""
        device = None if self.trainer is None else self.trainer.cuda_device
        return device if device is not None and device.type == "cuda" else None


@TrainerCallback.register("epoch_so_far")
class EpochSoFarCallback(_KeptInCheckpoints):
    """
    Keeps in the checkpoints what an epoch has summed up so far: the loss and our metrics. After
    `allennlp train --recover` AllenNLP's own begins to sum in the middle of an epoch, and divides what it
    has by the number of all batches.

    In distributed training these metrics are the means over what the first process knew, and over what all
    have seen since. Metrics of models other than ours are those since the interruption.

    Registered as a `TrainerCallback` with name "epoch_so_far".
    """

    _loss = _regularization_loss = 0.0
    _num_batches = 0

    @overrides
    def state_dict(self) -> Dict[str, Any]:
        return {
            "loss": self._loss,
            "regularization_loss": self._regularization_loss,
            "num_batches": self._num_batches,
            "metrics": [(metric._sums, metric._count) for metric in self._metrics()],
        }

    @overrides
    def restore(self, state: Dict[str, Any], is_primary: bool) -> None:
        if "num_batches" in state and is_primary:
            self._loss = state["loss"]
            self._regularization_loss = state["regularization_loss"]
            self._num_batches = state["num_batches"]
            for metric, (sums, count) in zip(self._metrics(), state["metrics"], strict=True):
                metric.add(sums, count)

    @overrides(check_signature=False)
    def on_batch(self, *args: Any, is_training: bool, **kwargs: Any) -> None:
        if is_training:
            _, _, batch_outputs, batch_metrics, *_ = args
            self._loss += batch_metrics["batch_loss"]
            # Of the last of the batches for one step of the optimizer; it is the same for all of them.
            penalty = batch_metrics.get("batch_reg_loss", 0.0)
            self._regularization_loss += len(batch_outputs) * penalty
            self._num_batches += 1
            # For the progress bar.
            batch_metrics["loss"] = self._loss / self._num_batches

    @overrides(check_signature=False)
    def on_epoch(self, *args: Any, **kwargs: Any) -> None:
        self._loss = self._regularization_loss = 0.0
        self._num_batches = 0

    def complete(self, metrics: Dict[str, float]) -> None:
        """
        To be called at the end of an epoch that was interrupted, with the metrics that AllenNLP has for
        it: none, if all of its batches had been seen before.
        """
        assert self.trainer is not None
        model = self.trainer.model
        has_penalty = model.get_regularization_penalty() is not None
        whole = training_util.get_metrics(
            model,
            dist_reduce_sum(self._loss),
            dist_reduce_sum(self._regularization_loss) if has_penalty else None,
            batch_loss=None,
            batch_reg_loss=None,
            num_batches=dist_reduce_sum(self._num_batches),
            reset=True,
        )
        for name, value in whole.items():
            # AllenNLP has taken the scores of the whole epoch from our model if it has any.
            if name in ("loss", "reg_loss") or name not in metrics:
                metrics[name] = value

    def _metrics(self) -> Iterator[MeanOverWorkers]:
        """Those of our model, in an order that depends on nothing but its config."""
        assert self.trainer is not None
        for module in self.trainer.model.modules():
            yield from _means_of(module)


def _means_of(owner: object) -> Iterator[MeanOverWorkers]:
    for value in vars(owner).values():
        if isinstance(value, MeanOverWorkers):
            yield value
        elif isinstance(value, Metric):
            yield from _means_of(value)


def install() -> None:
    """Makes both callbacks AllenNLP's defaults."""
    gradient_descent_trainer.DEFAULT_CALLBACKS += (RandomStateCallback, EpochSoFarCallback)

"""
What checkpoints must hold besides what AllenNLP puts into them. Both callbacks are among AllenNLP's default
ones as long as the plugin is loaded.
"""

from typing import Any, Dict, Iterator, Optional

import torch
import torch.distributed
from allennlp.common.util import is_distributed
from allennlp.nn.util import dist_reduce_sum
from allennlp.training import GradientDescentTrainer, TrainerCallback, gradient_descent_trainer
from allennlp.training import util as training_util
from allennlp.training.metrics import Metric
from overrides import overrides

from bidaf_plugin.training.metrics import MeanOverWorkers


@TrainerCallback.register("random_state")
class RandomStateCallback(TrainerCallback):
    """
    Keeps torch's random state in the checkpoints, so that dropout after `allennlp train --recover`
    is what it would have been without the interruption. (The order of the data needs no help:
    AllenNLP replays the data loader, which draws from Python's generator.)

    This holds for training in one process, on the same kind of device. In distributed training only the
    first process writes checkpoints, so only that one goes on with its numbers; each of the others goes on
    with new ones of its own.

    Registered as a `TrainerCallback` with name "random_state", and one of AllenNLP's default
    callbacks as long as the plugin is loaded.
    """

    def __init__(self, serialization_dir: str) -> None:
        super().__init__(serialization_dir)
        self._loaded_state: Dict[str, Any] = {}

    @overrides
    def state_dict(self) -> Dict[str, Any]:
        device = self._gpu()
        return {
            "cpu": torch.get_rng_state(),
            "gpu": None if device is None else torch.cuda.get_rng_state(device),
        }

    @overrides
    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        # Which device this process trains on is known when training starts, a moment later.
        self._loaded_state = state_dict

    @overrides(check_signature=False)
    def on_start(
        self, trainer: GradientDescentTrainer, is_primary: bool = True, **kwargs: Any
    ) -> None:
        super().on_start(trainer, is_primary=is_primary, **kwargs)
        # A new run has no such state, nor has a checkpoint of AllenNLP without the plugin.
        if "cpu" in self._loaded_state:
            self._restore(self._loaded_state["cpu"], self._loaded_state.get("gpu"))
        self._loaded_state = {}

    def _restore(self, cpu_state: torch.Tensor, gpu_state: Optional[torch.Tensor]) -> None:
        torch.set_rng_state(cpu_state.cpu())
        rank = torch.distributed.get_rank() if is_distributed() else 0
        if rank > 0:
            # The state is that of the first process, and no two should drop the same.
            seed = int(torch.randint(2**31, (1,))) + rank
            torch.manual_seed(seed)
            return
        device = self._gpu()
        if device is not None and gpu_state is not None:
            torch.cuda.set_rng_state(gpu_state.cpu(), device)

    def _gpu(self) -> Optional[torch.device]:
        """The GPU that this process trains on, if it does."""
        device = None if self.trainer is None else self.trainer.cuda_device
        return device if device is not None and device.type == "cuda" else None


@TrainerCallback.register("epoch_so_far")
class EpochSoFarCallback(TrainerCallback):
    """
    Keeps in the checkpoints what an epoch has summed up so far: the loss and our metrics. After
    `allennlp train --recover` AllenNLP's own begins to sum in the middle of an epoch, and divides what it
    has by the number of all batches.

    In distributed training only the first process writes checkpoints. The metrics of an epoch that was
    interrupted are then the means over what it knew, and over what all have seen since. Metrics of models
    other than ours are those since the interruption.

    Registered as a `TrainerCallback` with name "epoch_so_far", and one of AllenNLP's default callbacks as
    long as the plugin is loaded.
    """

    def __init__(self, serialization_dir: str) -> None:
        super().__init__(serialization_dir)
        self._loaded_state: Dict[str, Any] = {}
        self._forget()

    def _forget(self) -> None:
        self._loss = 0.0
        self._regularization_loss = 0.0
        self._num_batches = 0

    @overrides
    def state_dict(self) -> Dict[str, Any]:
        return {
            "loss": self._loss,
            "regularization_loss": self._regularization_loss,
            "num_batches": self._num_batches,
            "metrics": [(metric._sums, metric._count) for metric in self._metrics()],
        }

    @overrides
    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        # Whose metrics they are is known when training starts, a moment later.
        self._loaded_state = state_dict

    @overrides(check_signature=False)
    def on_start(
        self, trainer: GradientDescentTrainer, is_primary: bool = True, **kwargs: Any
    ) -> None:
        super().on_start(trainer, is_primary=is_primary, **kwargs)
        state, self._loaded_state = self._loaded_state, {}
        # A new run has no such state, nor has a checkpoint of AllenNLP without the plugin.
        if "num_batches" in state and is_primary:
            self._loss = state["loss"]
            self._regularization_loss = state["regularization_loss"]
            self._num_batches = state["num_batches"]
            for metric, (sums, count) in zip(self._metrics(), state["metrics"], strict=True):
                metric.add(sums, count)

    @overrides(check_signature=False)
    def on_batch(
        self,
        trainer: GradientDescentTrainer,
        batch_inputs: Any,
        batch_outputs: Any,
        batch_metrics: Dict[str, float],
        *args: Any,
        is_training: bool,
        **kwargs: Any,
    ) -> None:
        if is_training:
            self._loss += batch_metrics["batch_loss"]
            # Of the last of the batches for one step of the optimizer; it is the same for all of them.
            penalty = batch_metrics.get("batch_reg_loss", 0.0)
            self._regularization_loss += len(batch_outputs) * penalty
            self._num_batches += 1
            # For the progress bar.
            batch_metrics["loss"] = self._loss / self._num_batches

    @overrides(check_signature=False)
    def on_epoch(self, *args: Any, **kwargs: Any) -> None:
        self._forget()

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


def install_callbacks() -> None:
    """Makes both callbacks AllenNLP's defaults."""
    gradient_descent_trainer.DEFAULT_CALLBACKS += (RandomStateCallback, EpochSoFarCallback)

import inspect
import json
import logging
import os
import random
from contextlib import contextmanager
from difflib import get_close_matches
from functools import wraps
from typing import Any, Dict, Iterator, Optional, Tuple, Union

import numpy
import torch
import torch.distributed
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import int_to_device, is_distributed
from allennlp.data import DataLoader, TensorDict
from allennlp.models import Model
from allennlp.training import GradientDescentTrainer, Trainer
from allennlp.training import util as training_util
from allennlp.training.trainer import TrainerCheckpoint
from overrides import overrides

from bidaf_plugin.analysis.question_evaluator import QuestionEvaluator
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.models import AttentionFlow
from bidaf_plugin.upstream.checkpoints import EpochSoFarCallback, save_atomically
from bidaf_plugin.upstream.replaced_classes import register_instead

try:
    from bidaf_plugin.fast import products
except ImportError:  # What is fast can be left out.
    products = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)

_MAX_EPOCHS = 1_000_000_000


@register_instead(Trainer, "gradient_descent", constructor="from_partial_objects")
class CarefulValidationTrainer(GradientDescentTrainer):
    """
    AllenNLP's trainer with these repairs:

    - In distributed training it validates on all of the data. AllenNLP's own stops all workers as soon
      as the first has no batch left, so that with uneven shares some questions are never scored. Our
      model and its metrics exchange nothing between workers while they predict (see
      `MeanOverWorkers`), so each worker can go through its whole share. Models other than ours are
      validated as before.
    - Validation leaves the random numbers of training alone. AllenNLP's batch samplers draw some even
      for validation; `--recover`, which replays the training data but not the validation, would
      otherwise see the data in another order than the interrupted run.
    - The best weights are on disk before the checkpoint that counts on them. AllenNLP's own writes the
      checkpoint first: a run killed between the two would end without its best weights.
    - An epoch without a single batch is an error, and not a model that has learned nothing: readers that
      skip what cannot be used do not know whether others have found any.
    - A key of the config that the trainer does not know is an error. AllenNLP's own passes over it, and
      whoever has misspelt `num_epochs` trains for as long as the default is.
    - `use_amp` also works on the CPU: in training, the large products of our LSTM layers are then made of
      numbers of type `bfloat16`, where the processor is faster with them.
    - After `--recover` all metrics are those of a run without interruption (see `EpochSoFarCallback`), and
      a run that had finished, or had run out of patience, stays as it was.

    Registered as a `Trainer` with name "gradient_descent", in place of AllenNLP's.
    """

    _distributed: bool
    _epoch_of_saved_best = 0

    @classmethod
    # AllenNLP reads the names and types of what to build from the signature.
    @wraps(GradientDescentTrainer.from_partial_objects.__func__)  # type: ignore[attr-defined]
    def from_partial_objects(cls, *args: Any, **kwargs: Any) -> Trainer:
        known = list(inspect.signature(GradientDescentTrainer.from_partial_objects).parameters)
        for name in kwargs:
            if name not in known:
                meant = get_close_matches(name, known, n=1)
                hint = f"; did you mean {meant[0]!r}?" if meant else ""
                raise ConfigurationError(f"in the config: trainer has no {name!r}{hint}")
        # AllenNLP's own misses the weights after none, and cannot count the hours of too many.
        num_epochs = kwargs.get("num_epochs", 1)
        if not 1 <= num_epochs <= _MAX_EPOCHS:
            raise ConfigurationError(
                f"in the config: trainer.num_epochs must be from 1 to {_MAX_EPOCHS:,}, not {num_epochs}"
            )
        return super().from_partial_objects(*args, **kwargs)

    def __init__(
        self,
        *args: Any,
        cuda_device: Optional[Union[int, torch.device]] = None,
        use_amp: bool = False,
        **kwargs: Any,
    ) -> None:
        is_on_cpu = not torch.cuda.is_available()
        if cuda_device is not None:
            is_on_cpu = int_to_device(cuda_device).type == "cpu"
        super().__init__(
            *args, cuda_device=cuda_device, use_amp=use_amp and not is_on_cpu, **kwargs
        )
        self._has_bfloat16_products = use_amp and is_on_cpu
        if self._has_bfloat16_products and not (products and products.multiplies_bfloat16()):
            logger.warning("use_amp has no effect: this processor is not faster with bfloat16")

    @overrides
    def _train_epoch(self, epoch: int) -> Dict[str, float]:
        metrics = super()._train_epoch(epoch)
        if self._batches_in_epoch_completed == 0:
            raise DataError(
                "there was no batch to train on: no training question can be used, or a process of "
                "distributed training has none"
            )
        is_resumed_epoch = self._epochs_completed == self._start_after_epochs_completed
        if is_resumed_epoch and self._start_after_batches_in_epoch_completed > 0:
            for callback in self._callbacks:
                if isinstance(callback, EpochSoFarCallback):
                    callback.complete(metrics)
        return metrics

    @overrides
    def _try_train(self) -> Tuple[Dict[str, Any], int]:
        epochs_before = self._start_after_epochs_completed
        if epochs_before > 0 and self._metric_tracker.should_stop_early():
            # It had run out of patience already.
            self._num_epochs = epochs_before
        metrics, epoch = super()._try_train()
        return {**self._metrics_of_epoch(epochs_before - 1), **metrics}, epoch

    def _metrics_of_epoch(self, epoch: int) -> Dict[str, Any]:
        """What was written down at the end of an epoch, before the run was interrupted."""
        try:
            with open(os.path.join(self._serialization_dir, f"metrics_epoch_{epoch}.json")) as file:
                metrics = json.load(file)
        except (FileNotFoundError, ValueError, RecursionError):
            return {}
        return metrics if isinstance(metrics, dict) else {}

    @overrides
    def get_checkpoint_state(self) -> Optional[TrainerCheckpoint]:
        is_end_of_epoch = self._batches_in_epoch_completed == 0
        is_new = self._epochs_completed > self._epoch_of_saved_best
        if is_end_of_epoch and is_new and self._primary and self._has_new_best():
            self._epoch_of_saved_best = self._epochs_completed
            self._best_model_filename = os.path.join(self._serialization_dir, "best.th")
            if self._moving_average is not None:
                self._moving_average.assign_average_value()
            try:
                self._save_model_state(self._best_model_filename)
            finally:
                if self._moving_average is not None:
                    self._moving_average.restore()
        return super().get_checkpoint_state()

    def _has_new_best(self) -> bool:
        is_sharded = self._ddp_wrapped_model is not None and self._ddp_wrapped_model.is_sharded
        return (
            self._serialization_dir is not None
            and self._should_validate_this_epoch
            and self._validation_data_loader is not None
            and self._metric_tracker.is_best_so_far()
            and not is_sharded
        )

    @overrides
    def _save_model_state(self, path: str) -> None:
        save_atomically((self._ddp_wrapped_model or self.model).state_dict(), path)

    @overrides
    def batch_outputs(self, batch: TensorDict, for_training: bool) -> Dict[str, torch.Tensor]:
        if not for_training and isinstance(self.model, AttentionFlow):
            # Not through torch's distributed wrapper, which would wait for the other workers.
            return self.model(**batch)
        if self._has_bfloat16_products and products:
            with products.mixed_precision():
                return super().batch_outputs(batch, for_training)
        return super().batch_outputs(batch, for_training)

    @overrides
    def _validation_loss(self, epoch: int) -> Tuple[float, Optional[float], int]:
        with _untouched_random_numbers():
            if not isinstance(self.model, AttentionFlow):
                return super()._validation_loss(epoch)
            # AllenNLP asks this flag, inside the loop only, whether to stop with the first worker.
            distributed, self._distributed = self._distributed, False
            try:
                return super()._validation_loss(epoch)
            finally:
                self._distributed = distributed


@contextmanager
def _untouched_random_numbers() -> Iterator[None]:
    """What is drawn inside does not change what is drawn afterwards. (Torch: see the checkpoints.)"""
    python_state, numpy_state = random.getstate(), numpy.random.get_state()
    try:
        yield
    finally:
        random.setstate(python_state)
        numpy.random.set_state(numpy_state)


class FinalEvaluator(QuestionEvaluator):
    """
    What `allennlp train` does at its end with `"evaluate_on_test": true`, for our models. AllenNLP's own
    has two faults, each of which costs the archive of the run:

    - It stops where one batch has a loss and another has none, as batches of questions have that cannot
      be answered.
    - In distributed training only the first process is left by then. It would score its own share of the
      data and wait for the sums of the others. Here it reads and scores all of it.
    """

    @overrides
    def __call__(self, model: Model, data_loader: DataLoader, *args: Any, **kwargs: Any) -> Any:
        with _alone(data_loader):
            return super().__call__(model, data_loader, *args, **kwargs)


@contextmanager
def _alone(data_loader: Any) -> Iterator[None]:
    """While it lasts, this process knows of no others."""
    if not is_distributed():
        yield
        return
    is_initialized = torch.distributed.is_initialized
    torch.distributed.is_initialized = lambda: False
    try:
        data_loader.reader._set_distributed_info(None)
        # The share of this process, if it was kept.
        data_loader._instances = None
        yield
    finally:
        torch.distributed.is_initialized = is_initialized


def install() -> None:
    """Makes `allennlp train` use it."""
    evaluate = training_util.evaluate

    def evaluate_on_test(
        model: Model,
        data_loader: DataLoader,
        cuda_device: Union[int, torch.device] = -1,
        *args: Any,
        **kwargs: Any,
    ) -> Dict[str, Any]:
        if not isinstance(model, AttentionFlow):
            return evaluate(model, data_loader, cuda_device, *args, **kwargs)
        return FinalEvaluator(cuda_device=cuda_device)(model, data_loader, *args, **kwargs)

    training_util.evaluate = evaluate_on_test

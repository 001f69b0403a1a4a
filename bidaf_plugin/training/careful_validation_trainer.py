import random
from contextlib import contextmanager
from typing import Dict, Iterator, Optional, Tuple

import numpy
import torch
from allennlp.data import TensorDict
from allennlp.training import GradientDescentTrainer, Trainer
from overrides import overrides

from bidaf_plugin.models import AttentionFlow


@Trainer.register("gradient_descent", constructor="from_partial_objects", exist_ok=True)
class CarefulValidationTrainer(GradientDescentTrainer):
    """
    AllenNLP's trainer with two repairs of its validation.

    - In distributed training it validates on all of the data. AllenNLP's own stops all workers as soon
      as the first has no batch left, so that with uneven shares some questions are never scored. Our
      model and its metrics exchange nothing between workers while they predict (see
      `MeanOverWorkers`), so each worker can go through its whole share. Models other than ours are
      validated as before.
    - Validation leaves the random numbers of training alone. AllenNLP's batch samplers draw some even
      for validation; `--recover`, which replays the training data but not the validation, would
      otherwise see the data in another order than the interrupted run.

    Registered as a `Trainer` with name "gradient_descent", in place of AllenNLP's.
    """

    _distributed: bool

    @overrides
    def batch_outputs(self, batch: TensorDict, for_training: bool) -> Dict[str, torch.Tensor]:
        if not for_training and isinstance(self.model, AttentionFlow):
            # Not through torch's distributed wrapper, which would wait for the other workers.
            return self.model(**batch)
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

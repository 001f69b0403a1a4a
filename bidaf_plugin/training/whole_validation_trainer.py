from typing import Dict, Optional, Tuple

import torch
from allennlp.data import TensorDict
from allennlp.training import GradientDescentTrainer, Trainer
from overrides import overrides

from bidaf_plugin.models import AttentionFlow


@Trainer.register("gradient_descent", constructor="from_partial_objects", exist_ok=True)
class WholeValidationTrainer(GradientDescentTrainer):
    """
    AllenNLP's trainer, which in distributed training validates on all of the data.

    AllenNLP's own stops all workers as soon as the first has no batch left, so that with uneven
    shares some questions are never scored. Our model and its metrics exchange nothing between
    workers while they predict (see `MeanOverWorkers`), so each worker can go through its whole share.
    Models other than ours are validated as before.

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
        if not isinstance(self.model, AttentionFlow):
            return super()._validation_loss(epoch)
        # AllenNLP asks this flag, inside the loop only, whether to stop with the first worker.
        distributed, self._distributed = self._distributed, False
        try:
            return super()._validation_loss(epoch)
        finally:
            self._distributed = distributed

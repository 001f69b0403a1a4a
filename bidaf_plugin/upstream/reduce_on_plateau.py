from typing import List, Literal, Union

import torch
from allennlp.training.learning_rate_schedulers import LearningRateScheduler
from allennlp.training.learning_rate_schedulers.learning_rate_scheduler import (
    _PyTorchLearningRateSchedulerWithMetricsWrapper,
)
from allennlp.training.optimizers import Optimizer

from bidaf_plugin.upstream.registration import register_instead


@register_instead(LearningRateScheduler, "reduce_on_plateau")
class ReduceOnPlateau(_PyTorchLearningRateSchedulerWithMetricsWrapper):
    """
    Wrapper for torch's `ReduceLROnPlateau`. AllenNLP's own passes the argument `verbose`, which
    torch no longer has.

    Registered as a `LearningRateScheduler` with name "reduce_on_plateau", in place of AllenNLP's.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: float = 0.1,
        patience: int = 10,
        verbose: bool = False,
        threshold_mode: Literal["rel", "abs"] = "rel",
        threshold: float = 1e-4,
        cooldown: int = 0,
        min_lr: Union[float, List[float]] = 0,
        eps: float = 1e-8,
    ) -> None:
        super().__init__(
            torch.optim.lr_scheduler.ReduceLROnPlateau(
                optimizer=optimizer,
                mode=mode,
                factor=factor,
                patience=patience,
                threshold=threshold,
                threshold_mode=threshold_mode,
                cooldown=cooldown,
                min_lr=min_lr,
                eps=eps,
            )
        )

"""
Repairs of what steers training: the moving average of the weights, and a scheduler of learning rates.
"""

from typing import Any, Dict, List, Literal, Union

import torch
from allennlp.training.learning_rate_schedulers import LearningRateScheduler
from allennlp.training.learning_rate_schedulers.learning_rate_scheduler import (
    _PyTorchLearningRateSchedulerWithMetricsWrapper,
)
from allennlp.training.moving_average import ExponentialMovingAverage, MovingAverage
from allennlp.training.optimizers import Optimizer
from overrides import overrides

from bidaf_plugin.upstream.small_fixes import register_instead


@register_instead(MovingAverage, "exponential")
class ResumableExponentialMovingAverage(ExponentialMovingAverage):
    """
    AllenNLP's exponential moving average, kept across `allennlp train --recover`.

    AllenNLP's own takes the parameters it averages from the checkpoint: from then on it follows
    copies that nobody trains, so that the raw weights are validated and saved as the best ones. This
    one keeps the live parameters and only copies the averages.

    The decay is warmed up, as AllenNLP does: after `n` steps it is `min(decay, (1 + n) / (10 + n))`, so
    that the first averages do not cling to the random weights of the start. 0.999 is reached after 8,990
    steps. Neither the paper nor the authors' code has this.

    Registered as a `MovingAverage` with name "exponential", in place of AllenNLP's.
    """

    @overrides
    def state_dict(self) -> Dict[str, Any]:
        return {"shadows": self._shadows, "backups": self._backups}

    @overrides
    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        for own, saved in (
            (self._shadows, state_dict["shadows"]),
            (self._backups, state_dict["backups"]),
        ):
            for name, tensor in own.items():
                tensor.copy_(saved[name])


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

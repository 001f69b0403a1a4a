import time
from contextlib import contextmanager
from typing import Any, Dict, Iterator, Optional

from allennlp.training import TrainerCallback, gradient_descent_trainer
from overrides import overrides


class OutOfTime(Exception):
    """Training ended because its time was up. It can be taken up again from the last checkpoint."""


class TimeBudgetCallback(TrainerCallback):
    """
    Ends training, by `OutOfTime`, where one more epoch would not fit into the time that is left. Only
    whole epochs count, because only they end with a score.

    # Parameters

    serialization_dir : `str`
    minutes : `float`
    """

    def __init__(self, serialization_dir: str, minutes: float) -> None:
        super().__init__(serialization_dir)
        self._deadline = time.monotonic() + 60 * minutes
        self._epoch_start = time.monotonic()
        self._is_over = False

    @overrides
    def on_epoch(
        self,
        trainer: "gradient_descent_trainer.GradientDescentTrainer",
        metrics: Dict[str, Any],
        epoch: int,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        now = time.monotonic()
        duration, self._epoch_start = now - self._epoch_start, now
        self._is_over = now + duration > self._deadline

    @overrides(check_signature=False)
    def on_batch(self, *args: Any, is_training: bool, **kwargs: Any) -> None:
        # Not at the end of the epoch, which AllenNLP saves only after `on_epoch`.
        if self._is_over and is_training:
            raise OutOfTime


@contextmanager
def time_budget(minutes: Optional[float]) -> Iterator[None]:
    """
    Gives all training inside a budget. (Not through the config, which must stay the same when training
    is taken up again.)
    """
    callbacks = gradient_descent_trainer.DEFAULT_CALLBACKS
    try:
        if minutes is not None:
            gradient_descent_trainer.DEFAULT_CALLBACKS = (
                *callbacks,
                lambda serialization_dir: TimeBudgetCallback(serialization_dir, minutes),
            )
        yield
    except OutOfTime:
        pass
    finally:
        gradient_descent_trainer.DEFAULT_CALLBACKS = callbacks

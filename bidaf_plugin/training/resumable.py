"""
Training that goes on where it was interrupted, and that may have only so much time.
"""

import os
import tarfile
import time
import zlib
from contextlib import contextmanager
from typing import Any, Dict, Iterator, Optional

from allennlp.common import Params
from allennlp.training import TrainerCallback, gradient_descent_trainer
from overrides import overrides

from bidaf_plugin.archives.config_check import read_plain_json
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.tar_files import read_tar_gz


def train_or_resume(params: Dict[str, Any], folder: str, minutes: Optional[float] = None) -> None:
    """
    Trains, or goes on where an earlier call was interrupted; a finished run is left alone. What was
    begun with other settings does not pass for the same.

    # Parameters

    params : `Dict[str, Any]`
        The experiment.
    folder : `str`
        Where the run goes. It has a model.tar.gz afterwards: of the best weights so far, if the time was
        up.
    minutes : `float`, optional (default = `None`)
        How long to train; None for as long as it takes.
    """
    from allennlp.commands.train import train_model
    from allennlp.models.archival import archive_model

    config_path = os.path.join(folder, "config.json")
    is_begun = os.path.exists(config_path)
    if is_begun and read_plain_json(config_path) != params:
        raise DataError(
            f"{folder} was begun with other settings (see its config.json): use another folder, or "
            "remove it"
        )
    if os.path.exists(os.path.join(folder, "metrics.json")):
        if not _is_whole(os.path.join(folder, "model.tar.gz")):
            # Training had ended, and was interrupted while AllenNLP wrote the archive.
            archive_model(folder)
        return
    try:
        with _time_budget(minutes):
            train_model(Params(params), folder, recover=is_begun, file_friendly_logging=True)
    except OutOfTime:
        if not os.path.exists(os.path.join(folder, "best.th")):
            raise DataError(
                f"{folder}: there was no time for a single score; run again to go on"
            ) from None
        archive_model(folder)


def _is_whole(archive_path: str) -> bool:
    """Whether an archive can be read to its end."""
    try:
        return len(list(read_tar_gz(archive_path, archive_path))) > 0
    except (OSError, EOFError, tarfile.TarError, zlib.error, DataError):
        return False


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
def _time_budget(minutes: Optional[float]) -> Iterator[None]:
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
    finally:
        gradient_descent_trainer.DEFAULT_CALLBACKS = callbacks

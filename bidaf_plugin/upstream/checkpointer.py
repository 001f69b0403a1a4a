import logging
import os
from contextlib import suppress
from textwrap import shorten
from typing import Any, Optional

import torch
from allennlp.common.util import SigTermReceived
from allennlp.training import Checkpointer, Trainer
from allennlp.training.trainer import TrainerCheckpoint
from overrides import overrides

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import open_atomically
from bidaf_plugin.upstream.small_fixes import register_instead

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
            point = (
                training_state["epochs_completed"],
                training_state["batches_in_epoch_completed"],
            )
            # A checkpoint is found by its model state, so that one comes last.
            save_atomically(training_state, self._training_state_path(*point))
            save_atomically(model_state, self._model_state_path(*point))
        # AllenNLP writes no file that is there already; it counts, and removes old checkpoints.
        super().save_checkpoint(trainer)

    @overrides
    def load_checkpoint(self) -> Optional[TrainerCheckpoint]:
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
        return self.load_checkpoint()


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

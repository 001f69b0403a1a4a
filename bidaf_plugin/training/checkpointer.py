import os
from typing import Any

import torch
from allennlp.training import Checkpointer, Trainer
from overrides import overrides

from bidaf_plugin.common.registration import register_instead


@register_instead(Checkpointer, "default")
class AtomicCheckpointer(Checkpointer):
    """
    AllenNLP's checkpointer, safe against being killed while it writes: a checkpoint is either whole
    or not there. (AllenNLP's own leaves a truncated file, and `--recover` then fails on it.)

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
            _save_atomically(training_state, self._training_state_path(*point))
            _save_atomically(model_state, self._model_state_path(*point))
        # AllenNLP writes no file that is there already; it counts, and removes old checkpoints.
        super().save_checkpoint(trainer)


def _save_atomically(state: Any, path: str) -> None:
    if not os.path.isfile(path):
        temporary_path = f"{path}.{os.getpid()}.tmp"
        torch.save(state, temporary_path)
        os.replace(temporary_path, path)

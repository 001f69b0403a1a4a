from typing import Any, Dict, Optional

import torch
import torch.distributed
from allennlp.common.util import is_distributed
from allennlp.training import GradientDescentTrainer, TrainerCallback, gradient_descent_trainer
from overrides import overrides


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


def install_random_state_callback() -> None:
    """Makes the callback one of AllenNLP's defaults."""
    if RandomStateCallback not in gradient_descent_trainer.DEFAULT_CALLBACKS:
        gradient_descent_trainer.DEFAULT_CALLBACKS += (RandomStateCallback,)

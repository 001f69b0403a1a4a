from typing import Any, Dict

import torch
from allennlp.training import TrainerCallback, gradient_descent_trainer
from overrides import overrides


@TrainerCallback.register("random_state")
class RandomStateCallback(TrainerCallback):
    """
    Keeps torch's random state in the checkpoints, so that dropout after `allennlp train --recover`
    is what it would have been without the interruption. (The order of the data needs no help:
    AllenNLP replays the data loader, which draws from Python's generator.)

    Registered as a `TrainerCallback` with name "random_state", and one of AllenNLP's default
    callbacks as long as the plugin is loaded.
    """

    @overrides
    def state_dict(self) -> Dict[str, Any]:
        cuda_states = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
        return {"cpu": torch.get_rng_state(), "cuda": cuda_states}

    @overrides
    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        # A checkpoint of AllenNLP without the plugin has no such state.
        if "cpu" in state_dict:
            torch.set_rng_state(state_dict["cpu"].cpu())
            if torch.cuda.is_available() and state_dict["cuda"]:
                torch.cuda.set_rng_state_all([state.cpu() for state in state_dict["cuda"]])


def install_random_state_callback() -> None:
    """Makes the callback one of AllenNLP's defaults."""
    if RandomStateCallback not in gradient_descent_trainer.DEFAULT_CALLBACKS:
        gradient_descent_trainer.DEFAULT_CALLBACKS += (RandomStateCallback,)

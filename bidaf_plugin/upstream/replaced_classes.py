"""
Classes that take the place of AllenNLP's own of the same name. Larger ones are in `trainer.py` and
`checkpoints.py`.
"""

import logging
from functools import wraps
from typing import Any, Callable, Dict, List, Optional, Tuple, Type, TypeVar

import torch
from allennlp.common import Registrable
from allennlp.data import TextFieldTensors, Token
from allennlp.data.fields import TextField
from allennlp.interpret.attackers import Attacker, Hotflip
from allennlp.interpret.saliency_interpreters import SaliencyInterpreter, SimpleGradient
from allennlp.nn import util
from allennlp.training.learning_rate_schedulers import LearningRateScheduler
from allennlp.training.learning_rate_schedulers.learning_rate_scheduler import (
    _PyTorchLearningRateSchedulerWithMetricsWrapper,
)
from allennlp.training.learning_rate_schedulers.pytorch_lr_schedulers import (
    ReduceOnPlateauLearningRateScheduler,
)
from allennlp.training.moving_average import ExponentialMovingAverage, MovingAverage
from allennlp.training.optimizers import Optimizer
from overrides import overrides

T = TypeVar("T")


def register_instead(
    base: Type[Registrable], name: str, constructor: Optional[str] = None
) -> Callable[[Type[T]], Type[T]]:
    """
    Registers a class in place of AllenNLP's of the same name, without a line in the log about that
    whenever a command starts.
    """

    def register(subclass: Any) -> Any:
        logger = logging.getLogger(Registrable.__module__)
        was_disabled, logger.disabled = logger.disabled, True
        try:
            return base.register(name, constructor, exist_ok=True)(subclass)
        finally:
            logger.disabled = was_disabled

    return register


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

    # AllenNLP reads the names and types of what a config may have from the signature.
    @wraps(ReduceOnPlateauLearningRateScheduler.__init__)  # type: ignore[misc]
    def __init__(self, optimizer: Optimizer, verbose: bool = False, **kwargs: Any) -> None:
        super().__init__(torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **kwargs))


@register_instead(Attacker, "hotflip")
class AnyIndexerHotflip(Hotflip):
    """
    AllenNLP's `Hotflip` ([Ebrahimi et al., 2018](https://arxiv.org/abs/1712.06751)), which exchanges
    words of a text until the prediction changes, for every kind of token indexer: AllenNLP's own knows
    three, and none of this plugin's.

        Attacker.by_name("hotflip")(predictor).attack_from_json(
            {"question": ..., "passage": ...}, "question", "grad_input_2"
        )

    `grad_input_2` are the gradients of the question, `grad_input_1` those of the passage.

    Registered as an `Attacker` with name "hotflip", in place of AllenNLP's.
    """

    @overrides(check_signature=False)
    def _make_embedder_input(self, all_tokens: List[str]) -> TextFieldTensors:
        indexers: Any = self.predictor._dataset_reader._token_indexers  # type: ignore[attr-defined]
        field = TextField([Token(word) for word in all_tokens], indexers)
        field.index(self.vocab)
        tensors = field.as_tensor(field.get_padding_lengths())
        return util.move_to_device(field.batch_tensors([tensors]), self.cuda_device)


@register_instead(SaliencyInterpreter, "simple-gradient")
class EachWordGradient(SimpleGradient):
    """
    AllenNLP's `SimpleGradient` as it was meant: the saliency of a word is the gradient at the word
    times the vector of the word ([Feng et al., 2018](https://arxiv.org/abs/1804.07781)). AllenNLP's own
    loses the dimension of the batch, and so takes the vector of the first word for all of them.

    Registered as a `SaliencyInterpreter` with name "simple-gradient", in place of AllenNLP's.
    """

    @overrides(check_signature=False)
    def _register_hooks(
        self, embeddings_list: List[torch.Tensor], token_offsets: List[torch.Tensor]
    ) -> List[Any]:
        def keep_output(module: torch.nn.Module, inputs: Tuple, output: torch.Tensor) -> None:
            # Shape: (1, num_tokens, embedding_dim)
            embeddings_list.append(output.detach().clone())

        handles = super()._register_hooks([], token_offsets)
        embedding_layer = self.predictor.get_interpretable_layer()
        return [*handles, embedding_layer.register_forward_hook(keep_output)]

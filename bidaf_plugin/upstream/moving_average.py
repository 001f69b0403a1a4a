from typing import Any, Dict

from allennlp.training.moving_average import ExponentialMovingAverage, MovingAverage
from overrides import overrides

from bidaf_plugin.upstream.registration import register_instead


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

import warnings
from typing import Any, Dict, List, Tuple

from allennlp.data import Instance
from allennlp.predictors import Predictor
from overrides import overrides


class InterpretablePredictor(Predictor):
    """
    A predictor that works with `allennlp.interpret`: its gradients are by position.

    `grad_input_1` are those of the passage, `grad_input_2` those of the question, because gradients come
    in the reverse order.
    """

    @overrides
    def get_gradients(self, instances: List[Instance]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
        """The gradients of the loss of one instance by the word vectors, and the model's output."""
        with self._model.words_apart(), warnings.catch_warnings():
            # The kind of hook that AllenNLP registers; what it may miss is not used.
            warnings.filterwarnings("ignore", message="Using a non-full backward hook")
            return super().get_gradients(instances)

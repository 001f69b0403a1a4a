from typing import Any, Iterator, List, Sequence, Tuple

from allennlp.common.util import JsonDict
from allennlp.predictors import Predictor

from bidaf_plugin.server.errors import RequestError
from bidaf_plugin.server.schemas import ModelDescription


class ServedModel:
    """
    A model that answers requests. All but `description` and `check` is for the model thread.

    # Parameters

    name : `str`
        What requests call it.
    predictor : `Predictor`

    # Attributes

    description : `ModelDescription`
    """

    description: ModelDescription

    def __init__(self, name: str, predictor: Predictor) -> None:
        self.name = name
        self._predictor = predictor

    def check(self, record: JsonDict) -> None:
        """Raises a `DataError` or a `RequestError` for a question that is not for this model."""
        raise NotImplementedError

    def prepare(self, record: JsonDict) -> Any:
        """The question as `answer` takes it; raises what `check` does."""
        raise NotImplementedError

    def answer(self, questions: Sequence[Any]) -> Iterator[Tuple[List[int], List[JsonDict]]]:
        """
        Answers questions together.

        # Returns

        `Iterator[Tuple[List[int], List[JsonDict]]]`
            For each forward pass, the places of the questions that it completes, and the answers.
        """
        raise NotImplementedError

    def prepare_attention(self, record: JsonDict) -> Any:
        """The question as `attend` takes it; raises what `check` does."""
        raise RequestError(422, f"the model {self.name!r} has no attention that could be shown")

    def attend(self, questions: Sequence[Any]) -> Iterator[Tuple[List[int], List[JsonDict]]]:
        """What the model attends to, as `answer` gives the answers."""
        raise NotImplementedError

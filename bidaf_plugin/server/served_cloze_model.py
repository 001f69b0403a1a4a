from typing import Any, Iterator, List, Sequence, Tuple

from allennlp.common.util import JsonDict
from allennlp.data import Instance
from overrides import overrides

from bidaf_plugin.data.samplers.window_budget_sampler import BatchSize
from bidaf_plugin.predictors import ClozePredictor
from bidaf_plugin.predictors.cloze_predictor import MAX_WORDS
from bidaf_plugin.server.describe import describe_model
from bidaf_plugin.server.errors import RequestError
from bidaf_plugin.server.schemas import ModelDescription
from bidaf_plugin.server.served_model import ServedModel


class ServedClozeModel(ServedModel):
    """
    A model that fills gaps with entities. It always lists all of them: `n_best` makes no difference.

    # Parameters

    name : `str`
    predictor : `ClozePredictor`
    """

    _predictor: ClozePredictor

    def __init__(self, name: str, predictor: ClozePredictor) -> None:
        super().__init__(name, predictor)
        self.description = ModelDescription(
            name=name,
            kind="cloze",
            has_attention=False,
            takes_passages=False,
            knows_no_answer=False,
            description=describe_model(predictor._model),
        )

    @overrides
    def check(self, record: JsonDict) -> None:
        self._predictor.check(record)

    @overrides
    def prepare(self, record: JsonDict) -> Instance:
        instance = self._predictor._json_to_instance(record)
        num_words = BatchSize().with_one_more(instance).counted_words
        if num_words > MAX_WORDS:
            raise RequestError(
                413,
                f"the windows around the entities of the passage count as {num_words:,.0f} words (more "
                f"with a long question); a cloze model reads at most {MAX_WORDS:,}",
            )
        return instance

    @overrides
    def answer(self, questions: Sequence[Any]) -> Iterator[Tuple[List[int], List[JsonDict]]]:
        return self._predictor.predict_batches(list(questions))

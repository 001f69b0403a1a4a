from typing import Any, Dict, List, Optional

from allennlp.common.util import JsonDict
from overrides import overrides

from bidaf_plugin.predictors.pieces import Piece, QuestionOnPassages
from bidaf_plugin.predictors.question_answerer import QuestionAnswerer
from bidaf_plugin.predictors.ranking import Ranking


class EnsembleAnswerer(QuestionAnswerer):
    """
    What `QuestionAnswerer` is for one model, for an `AttentionFlowEnsemble`, which reads passages whole
    and ranks answers itself.
    """

    @overrides
    def _cut(
        self, place: int, question: QuestionOnPassages, rankings: Dict[int, Ranking]
    ) -> List[Piece]:
        return self._cutter.cut(place, question.instances)

    @overrides
    def _complete(
        self, record: JsonDict, output_dict: Dict[str, Any], row: int, n_best: Optional[int]
    ) -> JsonDict:
        if n_best is None:
            return record
        return {**record, "n_best": self._model.list_answers(output_dict, row, n_best)}

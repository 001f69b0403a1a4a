from typing import Any, Iterator, List, Sequence, Tuple

from allennlp.common.util import JsonDict
from allennlp.data import Instance
from overrides import overrides

from bidaf_plugin.analysis.attention import Attention, find_attention_of_instances
from bidaf_plugin.modules import BiAttention
from bidaf_plugin.predictors import EnsemblePredictor, SpanPredictor
from bidaf_plugin.predictors.pieces import QuestionOnPassages
from bidaf_plugin.predictors.records import check_record
from bidaf_plugin.server.describe import describe_model
from bidaf_plugin.server.errors import RequestError
from bidaf_plugin.server.schemas import AttentionAnswer, ModelDescription
from bidaf_plugin.server.served_model import ServedModel

# An ensemble reads a passage as a whole, so that memory grows with it.
_MAX_ENSEMBLE_TOKENS = 8_000
# The matrix of attention is as large as their product.
_MAX_ATTENTION_TOKENS = {"passage": 1_000, "question": 200}


class ServedSpanModel(ServedModel):
    """
    A model, or several together, that answers with spans.

    # Parameters

    name : `str`
    predictor : `SpanPredictor`
    """

    _predictor: SpanPredictor

    def __init__(self, name: str, predictor: SpanPredictor) -> None:
        super().__init__(name, predictor)
        model = predictor._model
        self._is_ensemble = isinstance(predictor, EnsemblePredictor)
        has_attention = any(isinstance(module, BiAttention) for module in model.modules())
        self.description = ModelDescription(
            name=name,
            kind="span",
            has_attention=has_attention and not self._is_ensemble,
            takes_passages=not self._is_ensemble,
            knows_no_answer=(
                model.no_answer if self._is_ensemble else model._output_layer.no_answer
            ),
            description=describe_model(model),
        )

    @overrides
    def check(self, record: JsonDict) -> None:
        check_record(record)
        if record.get("names") is not None:
            raise RequestError(422, f"'names' are for cloze models, which {self.name!r} is not")
        if self._is_ensemble and record.get("passages") is not None:
            raise RequestError(422, f"{self.name!r} reads one 'passage', not several 'passages'")

    @overrides
    def prepare(self, record: JsonDict) -> QuestionOnPassages:
        (question,) = self._predictor.make_questions([record])
        if self._is_ensemble:
            _check_length(question, "passage", _MAX_ENSEMBLE_TOKENS)
        return question

    @overrides
    def answer(self, questions: Sequence[Any]) -> Iterator[Tuple[List[int], List[JsonDict]]]:
        return self._predictor.predict_batches(questions)

    @overrides
    def prepare_attention(self, record: JsonDict) -> Instance:
        if not self.description.has_attention:
            return super().prepare_attention(record)
        question = self.prepare(record)
        for name, max_tokens in _MAX_ATTENTION_TOKENS.items():
            _check_length(question, name, max_tokens)
        return question.instances[0]

    @overrides
    def attend(self, questions: Sequence[Any]) -> Iterator[Tuple[List[int], List[JsonDict]]]:
        for places in self._predictor.make_sampler().get_batch_indices(questions):
            found = find_attention_of_instances(
                self._predictor, [questions[place] for place in places]
            )
            yield places, [_to_answer(attention) for attention in found]


def _to_answer(attention: Attention) -> JsonDict:
    record = attention.to_json()
    return {name: record[name] for name in AttentionAnswer.model_fields if name in record}


def _check_length(question: QuestionOnPassages, name: str, max_tokens: int) -> None:
    length = len(question.instances[0][name])
    if length > max_tokens:
        raise RequestError(
            413, f"the {name} has {length:,} tokens, and may have {max_tokens:,} here"
        )

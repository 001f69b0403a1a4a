from typing import Any, Iterator, List, Sequence, Tuple

from allennlp.common.util import JsonDict
from overrides import overrides

from bidaf_plugin.interpret.attention import find_attention
from bidaf_plugin.modules import BiAttention
from bidaf_plugin.predictors import EnsemblePredictor, SpanPredictor
from bidaf_plugin.predictors.pieces import QuestionOnPassages
from bidaf_plugin.predictors.records import check_record
from bidaf_plugin.server.describe import describe_model
from bidaf_plugin.server.errors import RequestError
from bidaf_plugin.server.schemas import MAX_ATTENTION_TOKENS, ModelDescription
from bidaf_plugin.server.served_model import ServedModel

# An ensemble reads a passage as a whole, so that memory grows with it.
_MAX_ENSEMBLE_TOKENS = 8_000


class ServedSpanModel(ServedModel):
    """
    A model, or several together, that answers with spans.

    # Parameters

    name : `str`
    predictor : `SpanPredictor`
    """

    _predictor: SpanPredictor

    @property
    def _is_ensemble(self) -> bool:
        return isinstance(self._predictor, EnsemblePredictor)

    @property
    def description(self) -> ModelDescription:
        model = self._predictor._model
        has_attention = any(isinstance(module, BiAttention) for module in model.modules())
        return ModelDescription(
            name=self.name,
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
        self.check(record)
        (question,) = self._predictor.make_questions([record])
        if self._is_ensemble:
            _check_length(question, _MAX_ENSEMBLE_TOKENS, "an ensemble reads")
        return question

    @overrides
    def answer(self, questions: Sequence[Any]) -> Iterator[Tuple[List[int], List[JsonDict]]]:
        return self._predictor.predict_batches(questions)

    @overrides
    def find_attention(self, record: JsonDict) -> JsonDict:
        if not self.description.has_attention:
            return super().find_attention(record)
        _check_length(self.prepare(record), MAX_ATTENTION_TOKENS, "attention is shown of")
        found = find_attention(self._predictor, record["question"], record["passage"]).to_json()
        names = ("words", "offsets")
        return {
            **{
                f"{text}_{name}": found[f"{text}_{name}"]
                for text in ("question", "passage")
                for name in names
            },
            "matrix": found["matrix"],
            "passage_weights": found["passage_weights"],
        }


def _check_length(question: QuestionOnPassages, max_tokens: int, who: str) -> None:
    length = max(len(instance["passage"]) for instance in question.instances)
    if length > max_tokens:
        raise RequestError(
            413, f"the passage has {length:,} tokens, and {who} at most {max_tokens:,}"
        )

"""
The models that the server answers with.
"""

from pathlib import Path
from typing import Any, Dict, Iterator, List, Sequence, Tuple, Type

from allennlp.common.util import JsonDict
from allennlp.models import Model
from allennlp.modules.matrix_attention import (
    BilinearMatrixAttention,
    DotProductMatrixAttention,
    LinearMatrixAttention,
    MatrixAttention,
)
from allennlp.predictors import Predictor
from overrides import overrides

from bidaf_plugin.analysis.attention import find_attention_of_instances
from bidaf_plugin.archives import AttentionFlowEnsemble, load_predictor
from bidaf_plugin.archives.load import packaged_archive
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.samplers.window_budget_sampler import BatchSize
from bidaf_plugin.modules import BiAttention
from bidaf_plugin.modules.fusion import MlpFusion
from bidaf_plugin.modules.matrix_attention import LinearAfterMlpMatrixAttention
from bidaf_plugin.predictors import ClozePredictor, EnsemblePredictor, SpanPredictor
from bidaf_plugin.predictors.cloze_predictor import MAX_WORDS
from bidaf_plugin.server.engine import with_engine
from bidaf_plugin.server.errors import RequestError
from bidaf_plugin.server.schemas import AttentionAnswer, ModelDescription

# An ensemble reads a passage as a whole, so that memory grows with it.
_MAX_ENSEMBLE_TOKENS = 8_000
# The matrix of attention is as large as their product.
_MAX_ATTENTION_TOKENS = {"passage": 1_000, "question": 200}

# In the words of the choice `alpha` of the config files.
_ALPHAS: Dict[Type[MatrixAttention], str] = {
    LinearMatrixAttention: "linear",
    DotProductMatrixAttention: "dot",
    BilinearMatrixAttention: "bilinear",
    LinearAfterMlpMatrixAttention: "linear_after_mlp",
}


class ServedModel:
    """
    A model that answers requests, all but its `description` in the model thread. The name in it is what
    requests call the model.
    """

    def __init__(self, description: ModelDescription, predictor: Predictor) -> None:
        self.description = description
        self.name = description.name
        self._predictor: Any = predictor

    def prepare(self, record: JsonDict) -> Any:
        """
        The question as `answer` takes it; raises a `DataError` or a `RequestError` if it cannot be
        answered.
        """
        (question,) = self._predictor.make_questions([record])
        return question

    def answer(self, questions: Sequence[Any]) -> Iterator[Tuple[List[int], List[JsonDict]]]:
        """For each forward pass, the indices of the questions that it completes, and the answers."""
        return self._predictor.predict_batches(list(questions))

    def prepare_attention(self, record: JsonDict) -> Any:
        """The question as `attend` takes it; raises what `prepare` does."""
        raise RequestError(422, f"the model {self.name!r} has no attention that could be shown")

    def attend(self, questions: Sequence[Any]) -> Iterator[Tuple[List[int], List[JsonDict]]]:
        """What the model attends to, as `answer` gives the answers."""
        raise NotImplementedError


class ServedSpanModel(ServedModel):
    """A model, or several together, that answers with spans."""

    @overrides
    def prepare(self, record: JsonDict) -> Any:
        if record.get("names") is not None:
            raise RequestError(422, f"'names' are for cloze models, which {self.name!r} is not")
        if not self.description.takes_passages and record.get("passages") is not None:
            raise RequestError(422, f"{self.name!r} reads one 'passage', not several 'passages'")
        question = super().prepare(record)
        if not self.description.takes_passages:
            _check_length(question, "passage", _MAX_ENSEMBLE_TOKENS)
        return question

    @overrides
    def prepare_attention(self, record: JsonDict) -> Any:
        if not self.description.has_attention:
            return super().prepare_attention(record)
        question = self.prepare(record)
        for name, max_tokens in _MAX_ATTENTION_TOKENS.items():
            _check_length(question, name, max_tokens)
        return question.instances[0]

    @overrides
    def attend(self, questions: Sequence[Any]) -> Iterator[Tuple[List[int], List[JsonDict]]]:
        for indices in self._predictor.make_sampler().get_batch_indices(questions):
            found = find_attention_of_instances(
                self._predictor, [questions[index] for index in indices]
            )
            records = [attention.to_json() for attention in found]
            documented = AttentionAnswer.model_fields
            yield indices, [
                {name: value for name, value in record.items() if name in documented}
                for record in records
            ]


def _check_length(question: Any, name: str, max_tokens: int) -> None:
    length = len(question.instances[0][name])
    if length > max_tokens:
        raise RequestError(
            413, f"the {name} has {length:,} tokens, and may have {max_tokens:,} here"
        )


class ServedClozeModel(ServedModel):
    """
    A model that fills gaps with entities. It always lists all of them: `n_best` makes no difference.
    """

    @overrides
    def prepare(self, record: JsonDict) -> Any:
        instance = super().prepare(record)
        num_words = BatchSize().with_one_more(instance).counted_words
        if num_words > MAX_WORDS:
            raise RequestError(
                413,
                f"the windows around the entities of the passage count as {num_words:,.0f} words (more "
                f"with a long question); a cloze model reads at most {MAX_WORDS:,}",
            )
        return instance


def load_models(
    archives: Sequence[str], cuda_device: int = -1, engine: str = "torch"
) -> List[ServedModel]:
    """
    # Parameters

    archives : `Sequence[str]`
        Paths, folders of training runs or URLs; if there are none, the packaged model is meant.
    cuda_device : `int`, optional (default = `-1`)
        -1 for the CPU.
    engine : `str`, optional (default = `"torch"`)
        See `with_engine`. It is for models that answer alone and with spans.
    """
    archives = archives or [packaged_archive()]
    return [
        _serve(name, load_predictor(archive, cuda_device), engine)
        for name, archive in zip(names_of(archives), archives, strict=True)
    ]


def _serve(name: str, predictor: Predictor, engine: str) -> ServedModel:
    model = predictor._model
    is_cloze = isinstance(predictor, ClozePredictor)
    is_single = isinstance(predictor, SpanPredictor) and not isinstance(
        predictor, EnsemblePredictor
    )
    description = ModelDescription(
        name=name,
        kind="cloze" if is_cloze else "span",
        has_attention=is_single and any(isinstance(m, BiAttention) for m in model.modules()),
        takes_passages=is_single,
        knows_no_answer=not is_cloze
        and (model._output_layer.no_answer if is_single else model.no_answer),
        description=describe_model(model),
    )
    if is_single:
        predictor = with_engine(predictor, engine)
    elif engine == "onnx":
        raise DataError(
            f"--engine onnx is for a single model that answers with spans, not {name!r}"
        )
    return (ServedClozeModel if is_cloze else ServedSpanModel)(description, predictor)


def names_of(archives: Sequence[str]) -> List[str]:
    """What requests call the models: the name of a training run's folder, or of a file. All differ."""
    names: List[str] = []
    for archive in archives:
        path = Path(archive)
        stem = path.name.removesuffix(".gz").removesuffix(".tar")
        # `model` is what all training runs call their archive.
        name = (path.absolute().parent.name if stem == "model" else stem) or "model"
        count = 2
        unique = name
        while unique in names:
            unique, count = f"{name}-{count}", count + 1
        names.append(unique)
    return names


def describe_model(model: Model) -> str:
    """What tells a model from its variants, in a few words."""
    if isinstance(model, AttentionFlowEnsemble):
        return f"{len(model.members)} models together"
    words = _describe_attention(model._attention)
    if getattr(model._output_layer, "no_answer", False):
        words.append("knows questions without an answer")
    # Without word vectors, of which there are as many as the vocabulary has words.
    num_parameters = sum(
        parameter.numel()
        for name, parameter in model.named_parameters()
        if not name.startswith("_text_field_embedder.token_embedder_tokens.")
    )
    return ", ".join([*words, f"{num_parameters / 1e6:.1f} million parameters"])


def _describe_attention(attention: Any) -> List[str]:
    if not isinstance(attention, BiAttention):
        return ["dynamic attention"]
    similarity = attention._similarity
    alpha = _ALPHAS.get(type(similarity), type(similarity).__name__)
    if isinstance(similarity, LinearMatrixAttention) and "x*y" in similarity._combination:
        alpha = "trilinear"
    beta = "mlp" if isinstance(attention._fusion, MlpFusion) else "concat"
    words = [f"alpha {alpha}", f"beta {beta}"]
    if not attention._context_to_query:
        words.append("no context-to-query attention")
    if not attention._fusion.uses_attended_passage():
        words.append("no query-to-context attention")
    if attention._hops:
        words.append(f"{len(attention._hops) + 1} hops")
    return words

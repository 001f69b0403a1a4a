from typing import Any

from allennlp.data import DatasetReader
from allennlp.models import Model
from allennlp.predictors import Predictor

from bidaf_plugin.data.dataset_readers import BidafClozeReader
from bidaf_plugin.predictors.cloze_predictor import ClozePredictor as ClozePredictor
from bidaf_plugin.predictors.ensemble_predictor import EnsemblePredictor as EnsemblePredictor
from bidaf_plugin.predictors.span_predictor import SpanPredictor as SpanPredictor
from bidaf_plugin.runtime.records import Answer as Answer
from bidaf_plugin.runtime.records import Answers as Answers


@Predictor.register("bidaf")
class BidafPredictor(Predictor):
    """
    The predictor that fits what the model was trained on: a `ClozePredictor` if the reader is
    `bidaf_cloze`, otherwise a `SpanPredictor`. Making one of these gives one of those.

    Registered as a `Predictor` with name "bidaf"; the default of the model "attention_flow".

    # Parameters

    model : `Model`
    dataset_reader : `DatasetReader`
    frozen : `bool`, optional (default = `True`)
    kwargs : `Any`
        What the predictor in question takes.
    """

    def __new__(  # type: ignore[misc]
        cls, model: Model, dataset_reader: DatasetReader, frozen: bool = True, **kwargs: Any
    ) -> Predictor:
        is_cloze = isinstance(dataset_reader, BidafClozeReader)
        predictor_class = ClozePredictor if is_cloze else SpanPredictor
        return predictor_class(model, dataset_reader, frozen, **kwargs)


def __getattr__(name: str) -> Any:
    """`load_predictor` and `load_span_predictor` used to be here, and programs of users expect them here."""
    if name in ("load_predictor", "load_span_predictor"):
        # Not before it is asked for: that room is built on this one.
        from bidaf_plugin.archives import load

        return getattr(load, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

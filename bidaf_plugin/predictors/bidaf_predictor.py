from typing import Any

from allennlp.data import DatasetReader
from allennlp.models import Model
from allennlp.predictors import Predictor

from bidaf_plugin.data.dataset_readers import BidafClozeReader
from bidaf_plugin.predictors.cloze_predictor import ClozePredictor
from bidaf_plugin.predictors.span_predictor import SpanPredictor


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

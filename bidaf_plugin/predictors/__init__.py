from typing import Any

from bidaf_plugin.predictors.answers import Answer as Answer
from bidaf_plugin.predictors.answers import Answers as Answers
from bidaf_plugin.predictors.bidaf_predictor import BidafPredictor as BidafPredictor
from bidaf_plugin.predictors.cloze_predictor import ClozePredictor as ClozePredictor
from bidaf_plugin.predictors.ensemble_predictor import EnsemblePredictor as EnsemblePredictor
from bidaf_plugin.predictors.span_predictor import SpanPredictor as SpanPredictor


def __getattr__(name: str) -> Any:
    """`load_predictor` and `load_span_predictor` used to be here, and programs of users expect them here."""
    if name in ("load_predictor", "load_span_predictor"):
        # Not before it is asked for: that room is built on this one.
        from bidaf_plugin.archives import load

        return getattr(load, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

from bidaf_plugin.archives.load import load_predictor as load_predictor
from bidaf_plugin.archives.load import load_span_predictor as load_span_predictor
from bidaf_plugin.predictors.answers import Answer as Answer
from bidaf_plugin.predictors.answers import Answers as Answers
from bidaf_plugin.predictors.bidaf_predictor import BidafPredictor as BidafPredictor
from bidaf_plugin.predictors.cloze_predictor import ClozePredictor as ClozePredictor
from bidaf_plugin.predictors.ensemble_predictor import EnsemblePredictor as EnsemblePredictor
from bidaf_plugin.predictors.span_predictor import SpanPredictor as SpanPredictor

from bidaf_plugin.archives.load import load_predictor as load_predictor
from bidaf_plugin.archives.load import load_span_predictor as load_span_predictor

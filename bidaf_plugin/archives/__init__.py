"""
Archives and folders of training runs: `load.py` is the one door through which all commands take them in.
"""

from bidaf_plugin.archives.ensemble import AttentionFlowEnsemble as AttentionFlowEnsemble
from bidaf_plugin.archives.load import load_predictor as load_predictor
from bidaf_plugin.archives.load import load_span_predictor as load_span_predictor
from bidaf_plugin.archives.pipeline import pipeline as pipeline

"""
Answers questions with a file that `allennlp bidaf export` wrote. It needs numpy and onnxruntime, and nothing
else: `export` copies this folder into the zip files that it writes. What predictors do in the same way they do
with this: tokens, pieces of long passages, ranking, records.
"""

from bidaf_plugin.runtime.errors import ExportedModelError as ExportedModelError
from bidaf_plugin.runtime.errors import QuestionError as QuestionError
from bidaf_plugin.runtime.exported_model import ExportedModel as ExportedModel
from bidaf_plugin.runtime.pipeline import pipeline as pipeline

load = ExportedModel

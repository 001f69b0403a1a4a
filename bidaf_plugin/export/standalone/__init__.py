"""
What runs without AllenNLP: `allennlp bidaf export` copies it into the file that it writes. Nothing here
imports more than torch, numpy, safetensors and modules that do likewise.
"""

from bidaf_plugin.export.standalone.errors import ExportedModelError as ExportedModelError
from bidaf_plugin.export.standalone.exported_model import ExportedModel as ExportedModel

"""
Bi-Directional Attention Flow for Machine Comprehension (Seo et al., ICLR 2017) as an AllenNLP plugin.
Importing this package registers all of its classes with AllenNLP.
"""

from bidaf_plugin import commands as commands
from bidaf_plugin import dataset_readers as dataset_readers
from bidaf_plugin import evaluation as evaluation
from bidaf_plugin import interpret as interpret
from bidaf_plugin import metrics as metrics
from bidaf_plugin import models as models
from bidaf_plugin import modules as modules
from bidaf_plugin import predictors as predictors
from bidaf_plugin import samplers as samplers
from bidaf_plugin import token_indexers as token_indexers
from bidaf_plugin import tokenizers as tokenizers
from bidaf_plugin import training as training
from bidaf_plugin.common.upstream_fixes import apply_upstream_fixes

try:
    from bidaf_plugin.fast.memory import keep_memory
except ImportError:  # What is fast can be left out.
    pass
else:
    keep_memory()

apply_upstream_fixes()

"""
Bi-Directional Attention Flow for Machine Comprehension (Seo et al., ICLR 2017) as an AllenNLP plugin.
Importing this package registers all of its classes with AllenNLP.
"""

import bidaf_plugin.commands
import bidaf_plugin.dataset_readers
import bidaf_plugin.metrics
import bidaf_plugin.models
import bidaf_plugin.modules
import bidaf_plugin.predictors
import bidaf_plugin.token_indexers
import bidaf_plugin.tokenizers
import bidaf_plugin.training
from bidaf_plugin.common.upstream_fixes import apply_upstream_fixes

apply_upstream_fixes()

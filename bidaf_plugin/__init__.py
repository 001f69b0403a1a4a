"""
Bi-Directional Attention Flow for Machine Comprehension (Seo et al., ICLR 2017) as an AllenNLP plugin.
Importing this package registers all of its classes with AllenNLP.
"""

try:
    import allennlp as _allennlp  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "allennlp":
        raise
    raise ModuleNotFoundError(
        "bidaf_plugin needs AllenNLP, whose own pins cannot be installed any more: "
        "pip install --no-deps allennlp==2.10.1",
        name="allennlp",
    ) from None

from bidaf_plugin import analysis as analysis
from bidaf_plugin import archives as archives
from bidaf_plugin import commands as commands
from bidaf_plugin import data as data
from bidaf_plugin import models as models
from bidaf_plugin import modules as modules
from bidaf_plugin import predictors as predictors
from bidaf_plugin import runtime as runtime
from bidaf_plugin.archives import pipeline as pipeline
from bidaf_plugin.upstream import apply_upstream_fixes

try:
    from bidaf_plugin.fast import keep_memory
except ImportError:  # What is fast can be left out.
    pass
else:
    keep_memory()

# Last, as it takes the place of what AllenNLP has.
apply_upstream_fixes()

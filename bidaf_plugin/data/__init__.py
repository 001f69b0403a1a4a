"""
From files to tensors, in the order in which text goes through it: tokenizers, token indexers, fields and
dataset readers; samplers make batches of it.
"""

from bidaf_plugin.data import dataset_readers as dataset_readers
from bidaf_plugin.data import fields as fields
from bidaf_plugin.data import samplers as samplers
from bidaf_plugin.data import token_indexers as token_indexers
from bidaf_plugin.data import tokenizers as tokenizers

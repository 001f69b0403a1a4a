from typing import Dict, List

import torch
from allennlp.common import Params
from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp.models.model import remove_weights_related_keys_from_params

from bidaf_plugin.analysis.tables import align_columns
from bidaf_plugin.common.errors import DataError


def count_parameters_by_layer(config: Params) -> Dict[str, int]:
    """The trainable parameters of each layer of a model, without word and character vectors."""
    if "model" not in config:
        raise DataError("the config has no key 'model'")
    model_params = config["model"]
    remove_weights_related_keys_from_params(model_params)
    # Where tensors have shapes and take no memory.
    with torch.device("meta"):
        model = Model.from_params(vocab=Vocabulary.empty(), params=model_params)
    counts: Dict[str, int] = {}
    for name, parameter in model.named_parameters():
        is_vector_of_vocabulary = name.endswith((".trained", "embedding._module.weight"))
        if parameter.requires_grad and not is_vector_of_vocabulary:
            layer = name.split(".")[0].strip("_")
            counts[layer] = counts.get(layer, 0) + parameter.numel()
    return counts


def format_table(names: List[str], counts: List[Dict[str, int]]) -> str:
    """One row per layer and one column per config."""
    layers = dict.fromkeys(layer for column in counts for layer in column)
    rows = [["", *(name.rpartition("/")[2] for name in names)]]
    for layer in layers:
        rows.append([layer, *(f"{column.get(layer, 0):,}" for column in counts)])
    rows.append(["total", *(f"{sum(column.values()):,}" for column in counts)])
    return align_columns(rows)

"""
Archives may come from anywhere, and AllenNLP does whatever a config says: it evaluates it as a program that
can read files, imports and calls any function that is named in place of a registered class, and builds
classes that download code and run it. Not from archives: a config is plain JSON, and what it names are
classes of this list, with arguments that cannot lead out of the archive.
"""

import json
import os
from copy import deepcopy
from typing import Any, Dict, Mapping, Optional, Set, Tuple, Type, get_args, get_origin

from allennlp.common import FromParams, Lazy, Params, Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.common.from_params import construct_arg, infer_method_params, remove_optional
from allennlp.data import DataLoader, DatasetReader, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.samplers import BucketBatchSampler
from allennlp.data.token_indexers import SingleIdTokenIndexer, TokenCharactersIndexer
from allennlp.data.tokenizers import WhitespaceTokenizer
from allennlp.evaluation import Evaluator, SimpleEvaluator
from allennlp.models import Model
from allennlp.models.archival import CONFIG_NAME
from allennlp.models.model import remove_weights_related_keys_from_params
from allennlp.modules.matrix_attention import (
    BilinearMatrixAttention,
    CosineMatrixAttention,
    DotProductMatrixAttention,
    LinearMatrixAttention,
)
from allennlp.modules.seq2seq_encoders import (
    ComposeEncoder,
    GruSeq2SeqEncoder,
    LstmSeq2SeqEncoder,
)
from allennlp.modules.seq2vec_encoders import CnnEncoder
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.modules.token_embedders import Embedding, TokenCharactersEncoder

from bidaf_plugin.archives.trust import HOW_TO_TRUST
from bidaf_plugin.common.errors import DataError

_MAX_CONFIG_BYTES = 4 * 1024**2

_RECURRENT = {"input_size", "hidden_size", "num_layers", "bias", "dropout", "bidirectional"}
# The classes of AllenNLP that archives may name, and their arguments that choose and set sizes.
_ALLENNLP_CLASSES: Dict[type, Set[str]] = {
    BasicTextFieldEmbedder: {"token_embedders"},
    Embedding: {"embedding_dim", "num_embeddings", "padding_index", "trainable", "vocab_namespace"},
    TokenCharactersEncoder: {"embedding", "encoder", "dropout"},
    CnnEncoder: {"embedding_dim", "num_filters", "ngram_filter_sizes", "output_dim"},
    ComposeEncoder: {"encoders"},
    LstmSeq2SeqEncoder: _RECURRENT,
    GruSeq2SeqEncoder: _RECURRENT,
    DotProductMatrixAttention: set(),
    CosineMatrixAttention: set(),
    LinearMatrixAttention: {"tensor_1_dim", "tensor_2_dim", "combination"},
    BilinearMatrixAttention: {"matrix_1_dim", "matrix_2_dim", "use_input_biases"},
    WhitespaceTokenizer: set(),
    SingleIdTokenIndexer: {"namespace", "lowercase_tokens"},
    TokenCharactersIndexer: {"namespace", "min_padding_length"},
    MultiProcessDataLoader: {
        "batch_size",
        "drop_last",
        "shuffle",
        "batch_sampler",
        "batches_per_epoch",
        "num_workers",
        "max_instances_in_memory",
        "quiet",
    },
    BucketBatchSampler: {"batch_size", "sorting_keys", "padding_noise", "drop_last", "shuffle"},
    SimpleEvaluator: set(),
}
# Arguments of this plugin's own classes that archives have no say in.
_REFUSED_ARGUMENTS = {
    "batch_serializer",
    "cuda_device",
    "ddp_accelerator",
    "initializer",
    "postprocessor_fn_name",
    "pretrained_file",
    "regularizer",
    "serialization_dir",
    "vocab",
}
# Numbers that are counted to, or that a table of the text has as columns, before there are weights.
_LARGEST = {
    "max_word_length": 1_000,
    "min_padding_length": 1_000,
    "num_embeddings": 1_000,
    "num_entities": 100_000,
    "num_highway_layers": 1_000,
    "num_hops": 1_000,
    "num_layers": 1_000,
    "num_workers": 64,
}
# What is built from the config of an archive, by AllenNLP's commands and ours.
_SECTIONS: Dict[str, Type[Registrable]] = {
    "dataset_reader": DatasetReader,
    "validation_dataset_reader": DatasetReader,
    "model": Model,
    "data_loader": DataLoader,
    "validation_data_loader": DataLoader,
    "evaluation": Evaluator,
}


def read_plain_json(path: str) -> Any:
    """What is in a file of JSON, and not in the language that AllenNLP takes it for."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_MAX_CONFIG_BYTES + 1)
        if len(text) > _MAX_CONFIG_BYTES:
            raise DataError(f"{path}: more than {_MAX_CONFIG_BYTES:,} characters")
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not plain JSON ({error})") from error


def read_config(folder: str, archive: object) -> Dict[str, Any]:
    """The config in the folder of an archive or of a training run; `archive` is what messages call it."""
    try:
        config = read_plain_json(os.path.join(folder, CONFIG_NAME))
        if isinstance(config["model"]["type"], str):
            return config
    except (OSError, ValueError, LookupError, TypeError, DataError):
        pass
    raise DataError(
        f"{archive}: not an archive of a model: no {CONFIG_NAME} in plain JSON with a 'model' and its "
        "'type'"
    )


def check_config(config: Mapping[str, Any], archive: object) -> None:
    """
    A `DataError` if anything that is built from the config of an archive or of a training run, at any time, is
    not of a class that archives may name, or has an argument that is not allowed or cannot be right.
    """
    for section, base in _SECTIONS.items():
        if section == "data_loader" and config.get("validation_data_loader") is not None:
            # It is for training alone.
            continue
        params = Params({section: deepcopy(config.get(section))})
        if section == "model":
            # As AllenNLP does when it loads a model, to which the weights come from their own file. It
            # does not look into lists, and neither must this.
            remove_weights_related_keys_from_params(params["model"])
        value = params.as_dict(quiet=True)[section]
        if value is not None:
            _check_object(value, base, section, archive)
    vocabulary = config.get("vocabulary")
    # All else about it is for training.
    kind = vocabulary.get("type") if isinstance(vocabulary, dict) else vocabulary
    if kind is not None:
        _find_class(kind, Vocabulary, "vocabulary", archive)


def _check_object(value: Any, base: type, place: str, archive: object) -> None:
    """What `base.from_params` would build of `value`."""
    if isinstance(value, str):
        value = {"type": value}
    if not isinstance(value, dict):
        raise DataError(f"{archive}: {place!r} of its config must be a {base.__name__}")
    arguments = dict(value)
    found, constructor = base, None
    if base in Registrable._registry:
        found, constructor = _find_class(arguments.pop("type", None), base, place, archive)
    elif not _is_ours(base) and base not in _ALLENNLP_CLASSES:
        raise _refusal(archive, place, f"a {base.__name__}")
    method = getattr(found, constructor or "__init__")
    parameters = {
        name: parameter
        for name, parameter in infer_method_params(found, method).items()
        if name != "self" and parameter.kind is not parameter.VAR_KEYWORD
    }
    allowed = _ALLENNLP_CLASSES.get(found, set(parameters) - _REFUSED_ARGUMENTS)
    for name, argument in arguments.items():
        parameter = parameters.get(name)
        if parameter is None or name not in allowed:
            raise _refusal(archive, place, f"the argument {name!r:.60} of {found.__name__}")
        where = f"{place}.{name}"
        if argument is None:
            continue
        if isinstance(argument, (int, float)) and argument > _LARGEST.get(name, argument):
            raise DataError(f"{archive}: {where!r} of its config is more than {_LARGEST[name]:,}")
        _check_value(argument, remove_optional(parameter.annotation), where, archive)


def _check_value(value: Any, annotation: Any, place: str, archive: object) -> None:
    """An argument of a constructor, as `construct_arg` of AllenNLP takes it."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, FromParams):
        _check_object(value, annotation, place, archive)
    elif origin is dict and _holds_objects(inner[1]) and isinstance(value, dict):
        for key, item in value.items():
            _check_value(item, inner[1], f"{place}.{key:.60}", archive)
    elif origin is list and _holds_objects(inner[0]) and isinstance(value, list):
        for number, item in enumerate(value):
            _check_value(item, inner[0], f"{place}.{number}", archive)
    elif _holds_objects(annotation):
        raise _refusal(archive, place, "what stands there")
    else:
        try:
            construct_arg("", place, value, annotation, None)
        except (TypeError, ValueError, ConfigurationError) as error:
            raise DataError(f"{archive}: in its config: {error}") from error


def _holds_objects(annotation: Any) -> bool:
    """Whether AllenNLP would build an object for a part of it."""
    if get_origin(annotation) is Lazy or hasattr(annotation, "from_params"):
        return True
    return any(_holds_objects(inner) for inner in get_args(annotation))


def _find_class(
    name: Optional[str], base: Type[Any], place: str, archive: object
) -> Tuple[Type[Any], Optional[str]]:
    """The class that is registered under a name, without importing one."""
    known = Registrable._registry[base]
    name = base.default_implementation if name is None else name
    found, constructor = known.get(name, (None, None)) if isinstance(name, str) else (None, None)
    is_allowed = found is not None and (
        _is_ours(found) or found in _ALLENNLP_CLASSES or found is base is Vocabulary
    )
    if found is None or not is_allowed:
        raise _refusal(archive, place, f"{name!r:.60} as a {base.__name__}")
    return found, constructor


def _is_ours(found: type) -> bool:
    return found.__module__.startswith("bidaf_plugin.")


def _refusal(archive: object, place: str, what: str) -> DataError:
    return DataError(
        f"{archive}: its config names {what} (at {place:.100}), which archives may not; {HOW_TO_TRUST}"
    )

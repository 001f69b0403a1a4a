"""
Archives that are made from others: smaller ones, and those whose probabilities are calibrated.
"""

import io
import json
import os
import tarfile
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any, Dict, Iterator, Optional

import torch
from allennlp.common import Params
from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp.models.archival import _WEIGHTS_NAME, CONFIG_NAME
from allennlp.models.model import remove_weights_related_keys_from_params

from bidaf_plugin.archives.config_check import read_config
from bidaf_plugin.archives.load import load_predictor, opened_archive
from bidaf_plugin.common.errors import DAMAGES, DataError
from bidaf_plugin.common.files import open_atomically
from bidaf_plugin.common.tar_files import read_tar_gz
from bidaf_plugin.modules.token_embedders import FixedAndTrainedEmbedder
from bidaf_plugin.predictors import EnsemblePredictor
from bidaf_plugin.predictors.span_predictor_base import learn_words

# What predicting and evaluating reads of a config; the rest is about training, on files of its own.
_KEPT_KEYS = (
    "dataset_reader",
    "validation_dataset_reader",
    "model",
    "validation_data_loader",
    "evaluation",
)


@contextmanager
def _new_archive(path: str, **settings: Any) -> Iterator[tarfile.TarFile]:
    """An archive to write, which is either whole or not there."""
    with (
        open_atomically(path, "wb") as file,
        tarfile.open(fileobj=file, mode="w:gz", **settings) as archive,
    ):
        yield archive


def compact_archive(
    archive: str, output: str, max_words: Optional[int] = None, vectors: Optional[str] = None
) -> int:
    """
    Writes an archive of the same model with weights in half precision, and returns the number of words.

    # Parameters

    archive : `str`
    output : `str`
        The archive to write; it is either whole or not there.
    max_words : `int`, optional (default = `None`)
        Only so many words of the vocabulary are kept, those that were most frequent in training.
    vectors : `str`, optional (default = `None`)
        A file of word vectors, the most frequent words first, whose words are added as long as there
        are fewer than `max_words`.
    """
    if max_words is not None and max_words < 2:
        raise DataError(f"the number of words must be 2 or more, not {max_words}")
    predictor = load_predictor(archive)
    if isinstance(predictor, EnsemblePredictor):
        raise DataError(f"{archive}: an ensemble; compact its members and put them together")
    model = predictor._model
    if vectors is not None:
        learn_words(model, vectors)
    num_words = _cut_vocabulary(model, max_words)
    with TemporaryDirectory() as folder:
        with open(os.path.join(folder, CONFIG_NAME), "w", encoding="utf-8") as config_file:
            json.dump(_lean_config(archive), config_file, indent=2)
        model.vocab.save_to_files(os.path.join(folder, "vocabulary"))
        # Fixed word vectors are nearly all of the file.
        fixed = {name for name, _ in model.named_buffers()}
        state = {
            name: _shorten(tensor, name in fixed) if tensor.is_floating_point() else tensor
            for name, tensor in model.state_dict().items()
        }
        torch.save(state, os.path.join(folder, _WEIGHTS_NAME))
        with _new_archive(output) as tar:
            for name in (CONFIG_NAME, "vocabulary", _WEIGHTS_NAME):
                tar.add(os.path.join(folder, name), name, filter=_anonymous)
    return num_words


def _shorten(tensor: torch.Tensor, is_fixed: bool) -> torch.Tensor:
    """In half precision; with 8 instead of 11 significant bits, which gzip makes smaller, if it is `is_fixed`."""
    half = tensor.half()
    if not is_fixed:
        return half
    # Rounded in the size, which the sign stands beside.
    return ((half.view(torch.int16) + 4) & ~7).view(torch.float16)


def _cut_vocabulary(model: Model, max_words: Optional[int]) -> int:
    """Leaves the first `max_words` words, and their vectors."""
    vocab = model.vocab
    # Dictionaries keep their order, and AllenNLP adds words in the order of their numbers.
    words = {
        namespace: list(vocab.get_token_to_index_vocabulary(namespace))
        for namespace in vocab.get_namespaces()
    }
    num_words = 0
    for module in model.modules():
        if isinstance(module, FixedAndTrainedEmbedder):
            kept = words[module.vocab_namespace] = words[module.vocab_namespace][:max_words]
            module.keep_words(len(kept))
            num_words = len(kept)
    cut = Vocabulary(non_padded_namespaces=vocab._non_padded_namespaces)
    for namespace, tokens in words.items():
        cut.add_tokens_to_namespace(tokens, namespace)
    model.vocab = cut
    return num_words


def _lean_config(archive: str) -> Dict[str, Any]:
    with opened_archive(archive) as folder:
        config = Params(read_config(folder, archive))
    remove_weights_related_keys_from_params(config["model"])
    lean = {key: value for key, value in config.as_dict(quiet=True).items() if key in _KEPT_KEYS}
    for key in ("dataset_reader", "validation_dataset_reader"):
        for machine_specific in ("cache_dir", "max_instances"):
            (lean.get(key) or {}).pop(machine_specific, None)
    return lean


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without the names and the clock of the machine, so that equal models are equal files."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def divide_logits(archive: str, new_archive: str, factor: float) -> float:
    """
    Writes an archive whose model divides its logits by `factor`, after what it did so far, and returns the
    temperature that is now in its config, at `model.output_layer.temperature`. All but the config stays as
    it is, byte for byte.

    # Parameters

    archive : `str`
    new_archive : `str`
        May be the same as `archive`. It is either whole or not there.
    factor : `float`
    """
    temperature: Optional[float] = None
    try:
        with _new_archive(new_archive, compresslevel=6) as target:
            for member, content in read_tar_gz(archive, archive):
                if content is not None and os.path.normpath(member.name) == CONFIG_NAME:
                    config = json.load(content)
                    output_layer = config.get("model", {}).get("output_layer")
                    if not isinstance(output_layer, dict):
                        raise DataError(
                            f"{archive}: the config has no 'model.output_layer' to put a temperature in"
                        )
                    temperature = factor * output_layer.get("temperature", 1.0)
                    output_layer["temperature"] = temperature
                    changed = json.dumps(config, indent=4).encode("utf-8")
                    member.size, content = len(changed), io.BytesIO(changed)
                target.addfile(member, content)
            if temperature is None:
                raise DataError(f"{archive}: there is no {CONFIG_NAME} in the archive")
    except (*DAMAGES, json.JSONDecodeError) as error:
        raise DataError(f"{archive}: the archive is truncated or damaged ({error})") from error
    return temperature

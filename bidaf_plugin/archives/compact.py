import json
import os
import tarfile
from tempfile import TemporaryDirectory
from typing import Any, Dict, List, Optional

import torch
from allennlp.common import Params
from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp.models.archival import _WEIGHTS_NAME, CONFIG_NAME
from allennlp.models.model import remove_weights_related_keys_from_params

from bidaf_plugin.archives.config_check import read_config
from bidaf_plugin.archives.load import load_predictor, opened_archive
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import open_atomically
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


def compact_archive(
    archive: str, output: str, max_words: Optional[int] = None, vectors: Optional[str] = None
) -> int:
    """
    Writes an archive of the same model with weights in half precision.

    # Parameters

    archive : `str`
    output : `str`
        The archive to write; it is either whole or not there.
    max_words : `int`, optional (default = `None`)
        Only so many words of the vocabulary are kept, those that were most frequent in training.
    vectors : `str`, optional (default = `None`)
        A file of word vectors, the most frequent words first, whose words are added as long as there
        are fewer than `max_words`.

    # Returns

    `int`
        The number of words.
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
        state = {
            name: tensor.half() if tensor.is_floating_point() else tensor
            for name, tensor in model.state_dict().items()
        }
        torch.save(state, os.path.join(folder, _WEIGHTS_NAME))
        with open_atomically(output, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as tar:
            for name in (CONFIG_NAME, "vocabulary", _WEIGHTS_NAME):
                tar.add(os.path.join(folder, name), name, filter=_anonymous)
    return num_words


def _cut_vocabulary(model: Model, max_words: Optional[int]) -> int:
    """Leaves the first `max_words` words, and their vectors."""
    vocab = model.vocab
    words = {
        namespace: [
            word for _, word in sorted(vocab.get_index_to_token_vocabulary(namespace).items())
        ]
        for namespace in vocab.get_namespaces()
    }
    num_words = 0
    for module in model.modules():
        if isinstance(module, FixedAndTrainedEmbedder):
            kept: List[str] = words[module.vocab_namespace][:max_words]
            words[module.vocab_namespace] = kept
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

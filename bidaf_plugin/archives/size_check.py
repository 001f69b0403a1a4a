"""
No archive takes more memory than its own weights do: that everything is in it, and no larger when it is loaded
than it is there.
"""

import os
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator

import torch
from allennlp.models import Model
from torch.nn.modules.module import register_module_parameter_registration_hook

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.modules.token_embedders import FixedAndTrainedEmbedder

# Where the members of an ensemble are in its archive, each in a folder with its number as its name.
MEMBERS_FOLDER = "members"
# A model may need so many times the bytes of its weights: they may be in half precision, and tables of words
# are made anew when it is known which words are fixed.
MAX_GROWTH = 8
_MAX_TENSORS = 10_000


def check_files(config: Dict[str, Any], folder: str, weights_path: str, archive: object) -> None:
    """Before a model is made: what its config speaks of is there."""
    vocabulary = Path(folder, "vocabulary")
    if not vocabulary.is_dir():
        raise DataError(f"{archive}: there is no folder 'vocabulary' in it")
    num_bytes = os.path.getsize(weights_path)
    with zipfile.ZipFile(weights_path) as weights:
        if sum(record.file_size for record in weights.infolist()) > num_bytes:
            raise DataError(f"{archive}: its weights are larger than the file that has them")
    for number in range(len(config["model"].get("members", ()))):
        if not os.path.isdir(os.path.join(folder, MEMBERS_FOLDER, str(number))):
            raise DataError(f"{archive}: there is no member {MEMBERS_FOLDER}/{number} in it")
    # By the names that AllenNLP gives to what is in the files.
    num_words = {path.name.replace(".txt", ""): _count_lines(path) for path in vocabulary.iterdir()}
    for embedder in _embedders(config["model"]):
        words = num_words.get(embedder.get("vocab_namespace", "tokens"), 0)
        # Two bytes for each number, in half precision.
        if 2 * words * embedder["embedding_dim"] > num_bytes:
            raise DataError(
                f"{archive}: its config has {embedder['embedding_dim']:,} numbers for each of "
                f"{words:,} words, which its weights do not have"
            )


def _count_lines(path: Path) -> int:
    with open(path, "rb") as file:
        return sum(1 for _ in file)


def _embedders(value: Any) -> Iterator[Dict[str, Any]]:
    """The parts of a model's config that have a vector for each word of a vocabulary."""
    if isinstance(value, dict):
        # A CNN has that number too, but no vectors.
        if "embedding_dim" in value and "num_filters" not in value:
            yield value
        for item in value.values():
            yield from _embedders(item)


@contextmanager
def parameters_at_most(num_bytes: int, archive: object) -> Iterator[None]:
    """
    While this lasts, a model cannot be built that has more parameters. They are counted when they get
    their names, and before they get their values: until then they take no memory.
    """
    used = [0, 0]

    def count(module: torch.nn.Module, name: str, parameter: Any) -> None:
        if parameter is not None:
            used[0] += parameter.numel() * parameter.element_size()
            used[1] += 1
        if used[0] > num_bytes or used[1] > _MAX_TENSORS:
            raise DataError(
                f"{archive}: its config is of a model that is much larger than its weights"
            )

    hook = register_module_parameter_registration_hook(count)
    try:
        yield
    finally:
        hook.remove()


def check_vectors(model: Model, archive: object) -> None:
    """That every word has a vector: the sizes of these tables are known from the weights alone."""
    for namespace in model.vocab.get_namespaces():
        words = model.vocab.get_token_to_index_vocabulary(namespace)
        if len(words) < len(model.vocab.get_index_to_token_vocabulary(namespace)):
            # AllenNLP counts it once, and gives it the later place.
            raise DataError(f"{archive}: its vocabulary {namespace!r:.60} has a word twice")
    for module in model.modules():
        if isinstance(module, FixedAndTrainedEmbedder):
            num_words = model.vocab.get_vocab_size(module.vocab_namespace)
            rows = module.rows
            is_inside = (rows < len(module.fixed)) & (rows >= -len(module.trained))
            if len(rows) < num_words or not is_inside.all():
                raise DataError(
                    f"{archive}: its vocabulary has {num_words:,} words, and its weights do not "
                    "have a vector for each"
                )

"""
The repairs of AllenNLP that are a few lines each.
"""

import os
import signal
import sys
import warnings
from difflib import get_close_matches
from os import PathLike
from typing import Any, List, Optional, Union

import numpy
import torch
from allennlp.commands import train
from allennlp.common import Params, cached_transformers, registrable
from allennlp.common import util as allennlp_util
from allennlp.models import archival
from allennlp.training import util as training_util

from bidaf_plugin.archives.config_check import read_plain_json
from bidaf_plugin.archives.load import PathOrUrl, extracted_archive, load_archive
from bidaf_plugin.archives.packaged import find_config
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import open_atomically
from bidaf_plugin.common.folders import check_folder


def install() -> None:
    allow_numpy_numbers()
    silence_known_warnings()
    suggest_names()
    load_tokenizers_of_transformers()
    load_archives_safely()
    write_whole_archives()
    check_before_training()
    find_packaged_configs()
    let_workers_end()


def allow_numpy_numbers() -> None:
    """
    `torch.load` refuses everything but tensors and plain Python by default, which is right, but the
    `cosine` scheduler and metrics of other models put numpy numbers into the training state. Numbers
    are harmless, so they are allowed; nothing else is.
    """
    scalar: Any = numpy.float64(0.0).__reduce__()[0]
    number_types = [numpy.dtypes.Float64DType, numpy.dtypes.Float32DType, numpy.dtypes.Int64DType]
    torch.serialization.add_safe_globals([scalar, numpy.dtype, *number_types])


def find_packaged_configs() -> None:
    """Makes `allennlp train training_configs/...` work in any folder, with the configs that a wheel carries."""
    from_file = Params.from_file

    def find_and_read(params_file: Union[str, PathLike], *args: Any, **kwargs: Any) -> Params:
        return from_file(find_config(os.fspath(params_file)), *args, **kwargs)

    Params.from_file = staticmethod(find_and_read)  # type: ignore[method-assign,assignment]


def silence_known_warnings() -> None:
    """AllenNLP's trainer warns on every run about calls that no user can change."""
    warnings.filterwarnings("ignore", message=r".*torch\.cuda\.amp", category=FutureWarning)


def suggest_names() -> None:
    """The message about an unknown name in a config says which one may have been meant."""

    def find_similar(name: str, available: List[str]) -> Optional[str]:
        return next(iter(get_close_matches(name, available, 1)), None)

    registrable._get_suggestion = find_similar


def load_tokenizers_of_transformers() -> None:
    """
    AllenNLP says whether special tokens are wanted when it loads a tokenizer, which transformers no
    longer takes, and again each time it uses it, which is enough.
    """
    get_tokenizer = cached_transformers.get_tokenizer

    def get(model_name: str, add_special_tokens: bool = True, **kwargs: Any) -> Any:
        return get_tokenizer(model_name, **kwargs)

    cached_transformers.get_tokenizer = get


def load_archives_safely() -> None:
    """AllenNLP's commands load archives and folders of training runs as ours do."""
    archival.extracted_archive = extracted_archive
    for name in ("evaluate", "predict", "_checklist_internal"):
        command = sys.modules.get(f"allennlp.commands.{name}")
        if command is not None:
            command.load_archive = load_archive  # type: ignore[attr-defined]


def write_whole_archives() -> None:
    """
    AllenNLP writes a model.tar.gz that is either whole or not there. Its own is left truncated by a full
    disk, and by whatever else ends it too early.
    """
    archive_model = archival.archive_model

    def archive_atomically(
        serialization_dir: PathOrUrl,
        weights: str = archival._DEFAULT_WEIGHTS,
        archive_path: Optional[PathOrUrl] = None,
        **kwargs: Any,
    ) -> str:
        path = os.fspath(archive_path or serialization_dir)
        if os.path.isdir(path):
            path = os.path.join(path, "model.tar.gz")
        if not os.path.isfile(os.path.join(serialization_dir, weights)):
            raise DataError(f"{serialization_dir}: there is no file {weights!r}, its best weights")
        with open_atomically(path, "wb") as file:
            archive_model(serialization_dir, weights, file.name, **kwargs)
        return path

    archival.archive_model = train.archive_model = archive_atomically


def let_workers_end() -> None:
    """
    The `allennlp` command turns SIGTERM into an exception. The workers of a data loader inherit that,
    and would show a traceback when they are told to end because another one has failed.
    """
    if signal.getsignal(signal.SIGTERM) is not allennlp_util._handle_sigterm:
        return
    process = os.getpid()

    def raise_or_end(signal_number: int, frame: Any) -> None:
        if os.getpid() == process:
            allennlp_util._handle_sigterm(signal_number, frame)
        signal.signal(signal_number, signal.SIG_DFL)
        os.kill(os.getpid(), signal_number)

    signal.signal(signal.SIGTERM, raise_or_end)


def check_before_training() -> None:
    """
    `allennlp train` finds out now, and not with its first checkpoint, that it cannot write. What is in its
    folder is read as plain JSON; AllenNLP would evaluate it.
    """
    create_serialization_dir = training_util.create_serialization_dir

    def create(
        params: Params, serialization_dir: Union[str, PathLike], *args: Any, **kwargs: Any
    ) -> None:
        if not isinstance(params.params, dict):
            raise DataError(f"the config must be a JSON object, found {params.params!r:.60}")
        for key, value in params.as_flat_dict().items():
            if isinstance(value, int) and abs(value) >= 2**63:
                raise DataError(f"in the config: {key}: {value} is too large a number")
        check_folder(str(serialization_dir))
        path = os.path.join(serialization_dir, archival.CONFIG_NAME)
        if os.path.exists(path) and not isinstance(read_plain_json(path), dict):
            raise DataError(f"{path}: the config must be a JSON object")
        try:
            create_serialization_dir(params, serialization_dir, *args, **kwargs)
        except KeyError as error:
            # AllenNLP wants to show both values of a key that only one of the configs has.
            raise DataError(
                f"{serialization_dir} was begun with another config, which has no {error}"
            ) from error

    training_util.create_serialization_dir = create

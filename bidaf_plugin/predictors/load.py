"""
Archives, loaded with care: nothing in one is executed, and one sentence says what is wrong with it.
"""

import json
import os
import pickle
import shutil
import tarfile
import zlib
from contextlib import contextmanager
from gzip import BadGzipFile
from os import PathLike
from pathlib import PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, Iterator, Union

from allennlp.common.file_utils import cached_path
from allennlp.models import Archive, Model, load_archive
from allennlp.models.archival import CONFIG_NAME
from allennlp.predictors import Predictor

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.dataset_readers import BidafClozeReader
from bidaf_plugin.predictors.span_predictor import SpanPredictor

Path = Union[str, "PathLike[str]"]


def load_predictor(archive_path: Path, cuda_device: int = -1, **predictor_args: Any) -> Predictor:
    """
    The predictor of an archive of this plugin: a `SpanPredictor`, or a `ClozePredictor`.

    # Parameters

    archive_path : `Union[str, PathLike]`
        A `model.tar.gz`, a URL of one, or the folder of a training run.
    cuda_device : `int`, optional (default = `-1`)
        -1 for the CPU.
    predictor_args : `Any`
        What the predictor takes, such as `n_best=5`.

    # Raises

    `DataError`
        If the archive is not there, is damaged, is of a model that is not this plugin's, has members
        outside of its folder, or has weights that hold more than tensors.
    """
    return Predictor.from_archive(_load(archive_path, cuda_device), extra_args=predictor_args)


def load_span_predictor(
    archive_path: Path, cuda_device: int = -1, **predictor_args: Any
) -> SpanPredictor:
    """What `load_predictor` does, for archives of models that answer with spans and no others."""
    archive = _load(archive_path, cuda_device)
    predictor = None
    # Before the predictor is made, because it takes other arguments.
    if not isinstance(archive.validation_dataset_reader, BidafClozeReader):
        predictor = Predictor.from_archive(archive, extra_args=predictor_args)
    if not isinstance(predictor, SpanPredictor):
        raise DataError(f"{archive_path}: not a model that answers with spans of a passage")
    return predictor


def _load(archive_path: Path, cuda_device: int) -> Archive:
    with _damage_as_one_sentence(archive_path):
        local_path = cached_path(archive_path)
        if os.path.isdir(local_path):
            _check_is_ours(local_path, archive_path)
            return load_archive(local_path, cuda_device)
        with TemporaryDirectory() as folder:
            _extract(local_path, folder, archive_path)
            _check_is_ours(folder, archive_path)
            return load_archive(folder, cuda_device)


def _extract(local_path: Path, folder: str, archive_path: Path) -> None:
    with tarfile.open(local_path, "r:gz") as archive:
        for member in archive:
            path = PurePosixPath(member.name)
            if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
                raise DataError(
                    f"{archive_path}: {member.name!r} leads out of the archive; it is not extracted"
                )
            content = archive.extractfile(member)
            if content is not None:
                os.makedirs(os.path.join(folder, path.parent), exist_ok=True)
                with open(os.path.join(folder, path), "wb") as file:
                    shutil.copyfileobj(content, file)


def _check_is_ours(folder: Path, archive_path: Path) -> None:
    try:
        with open(os.path.join(folder, CONFIG_NAME), encoding="utf-8") as file:
            model_type = json.load(file)["model"]["type"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(
            f"{archive_path}: not an archive of a model: no {CONFIG_NAME} with a 'model' and its 'type'"
        ) from error
    model_class = Model.by_name(model_type) if model_type in Model.list_available() else None
    if model_class is None or not model_class.__module__.startswith("bidaf_plugin."):
        raise DataError(
            f"{archive_path}: a model of type {model_type!r:.60}, which is not one of this plugin's"
        )


@contextmanager
def _damage_as_one_sentence(archive_path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        # Of the archive's own files there may be one that is missing.
        is_missing = not os.path.exists(archive_path)
        what = "there is no such file" if is_missing else f"there is no {error.filename} in it"
        raise DataError(f"{archive_path}: {what}") from error
    except (tarfile.TarError, EOFError, zlib.error, BadGzipFile) as error:
        raise DataError(f"{archive_path}: the archive is truncated or damaged ({error})") from error
    except pickle.UnpicklingError as error:
        raise DataError(
            f"{archive_path}: its weights hold more than tensors, and are not loaded"
        ) from error
    except RuntimeError as error:
        # What torch and AllenNLP say of weights that are damaged, or of a model of other sizes.
        message = str(error).strip().splitlines()[0]
        raise DataError(f"{archive_path}: its weights cannot be loaded ({message})") from error

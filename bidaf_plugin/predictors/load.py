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
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, Iterator, Union
from uuid import uuid4

import torch
from allennlp.commands import evaluate, predict
from allennlp.common.file_utils import cached_path
from allennlp.models import Archive, Model, archival, load_archive
from allennlp.models.archival import CONFIG_NAME
from allennlp.predictors import Predictor

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.dataset_readers import BidafClozeReader
from bidaf_plugin.predictors.known_classes import install_class_check, only_known_classes
from bidaf_plugin.predictors.span_predictor import SpanPredictor

Path = Union[str, "PathLike[str]"]

# What an archive may hold, unpacked: far more than a model of this plugin has.
_MAX_BYTES = 16 * 1024**3


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
        outside of its folder, names classes that are not known, or has weights that hold more than
        tensors.
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


def unpack_archive(archive_path: Path, folder: str) -> None:
    """Makes a folder of an archive, which holds all of it or is not there."""
    temporary_folder = f"{folder}.{uuid4().hex}.tmp"
    try:
        with _damage_as_one_sentence(archive_path):
            local_path = cached_path(archive_path)
            if os.path.isdir(local_path):
                local_path = os.path.join(local_path, "model.tar.gz")
            _extract(local_path, temporary_folder, archive_path)
            _check_is_ours(temporary_folder, archive_path)
        os.rename(temporary_folder, folder)
    finally:
        shutil.rmtree(temporary_folder, ignore_errors=True)


def _load(archive_path: Path, cuda_device: int) -> Archive:
    if cuda_device >= torch.cuda.device_count():
        raise DataError(f"there is no GPU {cuda_device} on this machine; -1 is the CPU")
    with _damage_as_one_sentence(archive_path), only_known_classes(archive_path):
        local_path = cached_path(archive_path)
        if os.path.isdir(local_path):
            _check_is_ours(local_path, archive_path)
            return load_archive(local_path, cuda_device)
        with TemporaryDirectory() as folder:
            _extract(local_path, folder, archive_path)
            _check_is_ours(folder, archive_path)
            return load_archive(folder, cuda_device)


@contextmanager
def extracted_archive(resolved_archive_file: Path, cleanup: bool = True) -> Iterator[str]:
    """What AllenNLP's function of this name does, for archives that may come from anywhere."""
    folder = mkdtemp()
    is_whole = False
    try:
        _extract(resolved_archive_file, folder, resolved_archive_file)
        is_whole = True
        yield folder
    finally:
        if cleanup or not is_whole:
            shutil.rmtree(folder)


def load_archive_carefully(archive_file: Path, *args: Any, **kwargs: Any) -> Archive:
    """What AllenNLP's `load_archive` does, for archives that may come from anywhere."""
    with only_known_classes(archive_file):
        return load_archive(archive_file, *args, **kwargs)


def install_careful_loading() -> None:
    """Makes `allennlp predict` and `allennlp evaluate` load archives with care, whatever their model."""
    archival.extracted_archive = extracted_archive
    install_class_check()
    for command in (evaluate, predict):
        command.load_archive = load_archive_carefully


def _extract(local_path: Path, folder: str, archive_path: Path) -> None:
    num_bytes = 0
    with tarfile.open(local_path, "r:gz") as archive:
        for member in archive:
            num_bytes += member.size
            if num_bytes > _MAX_BYTES:
                raise DataError(
                    f"{archive_path}: more than {_MAX_BYTES // 1024**3} GB when unpacked"
                )
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
    except (RuntimeError, OSError) as error:
        # What torch and AllenNLP say of weights that are damaged, or of a model of other sizes.
        message = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise DataError(f"{archive_path}: cannot be loaded ({message})") from error

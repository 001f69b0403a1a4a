"""
The door for archives and folders of training runs, of every command of this plugin and of AllenNLP: what a
stranger has packed is not executed, reads nothing, calls nobody and takes no more memory than its own
weights, and one sentence says what is wrong with it.
"""

import json
import os
import pickle
import shutil
from contextlib import ExitStack, contextmanager
from os import PathLike
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Dict, Iterator, Optional, Union
from uuid import uuid4

import torch
from allennlp.common import Params
from allennlp.common.file_utils import cached_path
from allennlp.common.meta import META_NAME, Meta
from allennlp.common.params import parse_overrides, with_overrides
from allennlp.models import Archive, Model, archival
from allennlp.predictors import Predictor

from bidaf_plugin.archives.config_check import check_config, read_config
from bidaf_plugin.archives.packaged import packaged_archive as packaged_archive
from bidaf_plugin.archives.size_check import (
    MAX_GROWTH,
    check_files,
    check_vectors,
    parameters_at_most,
)
from bidaf_plugin.archives.trust import is_trusted, trusting
from bidaf_plugin.common.errors import DAMAGES, DataError
from bidaf_plugin.common.tar_files import read_tar_gz
from bidaf_plugin.data.dataset_readers import BidafClozeReader
from bidaf_plugin.predictors import SpanPredictor

PathOrUrl = Union[str, "PathLike[str]"]


def load_predictor(
    archive_path: PathOrUrl, cuda_device: int = -1, trust: bool = False, **predictor_args: Any
) -> Predictor:
    """
    The predictor of an archive of this plugin: a `SpanPredictor`, an `EnsemblePredictor` or a
    `ClozePredictor`.

    # Parameters

    archive_path : `Union[str, PathLike]`
        A `model.tar.gz`, a URL of one, or the folder of a training run.
    cuda_device : `int`, optional (default = `-1`)
        -1 for the CPU.
    trust : `bool`, optional (default = `False`)
        Whether the config may name any class or function, which is then imported and called, and any
        file or address. For your own archives alone, and for those of people whose code you would run.
    predictor_args : `Any`
        What the predictor takes, such as `n_best=5`.

    # Raises

    `DataError`
        If the archive is not there, is damaged, is of a model that is not this plugin's, has members
        outside of its folder, names classes that archives may not, has a model that is larger than its
        weights, or has weights that hold more than tensors.
    """
    archive = _load_ours(archive_path, cuda_device, trust)
    return Predictor.from_archive(archive, extra_args=predictor_args)


def load_span_predictor(
    archive_path: PathOrUrl, cuda_device: int = -1, trust: bool = False, **predictor_args: Any
) -> SpanPredictor:
    """
    What `load_predictor` does, for archives of models that answer with spans and no others. That of an
    ensemble is an `EnsemblePredictor`, which is asked in the same way.
    """
    archive = _load_ours(archive_path, cuda_device, trust)
    # Before the predictor is made, because it takes other arguments.
    if isinstance(archive.validation_dataset_reader, BidafClozeReader):
        raise DataError(f"{archive_path}: not a model that answers with spans of a passage")
    return Predictor.from_archive(archive, extra_args=predictor_args)


def _load_ours(archive_path: PathOrUrl, cuda_device: int, trust: bool) -> Archive:
    if cuda_device >= torch.cuda.device_count():
        raise DataError(f"there is no GPU {cuda_device} on this machine; -1 is the CPU")
    with trusting(trust), opened_archive(archive_path) as folder:
        _check_is_ours(folder, archive_path)
        return _load(folder, archive_path, cuda_device)


def load_archive(
    archive_file: PathOrUrl,
    cuda_device: int = -1,
    overrides: Union[str, Dict[str, Any]] = "",
    weights_file: Optional[str] = None,
) -> Archive:
    """What AllenNLP's `load_archive` does, for archives that may come from anywhere."""
    if isinstance(overrides, dict):
        overrides = json.dumps(overrides)
    with opened_archive(archive_file) as folder:
        return _load(folder, archive_file, cuda_device, overrides, weights_file)


def unpack_archive(archive_path: PathOrUrl, folder: str) -> None:
    """Makes a folder of an archive, which holds all of it or is not there."""
    temporary_folder = f"{folder}.{uuid4().hex}.tmp"
    try:
        with _damage_as_one_sentence(archive_path):
            local_path = cached_path(archive_path)
            if os.path.isdir(local_path):
                local_path = os.path.join(local_path, "model.tar.gz")
            _extract_files(local_path, temporary_folder, archive_path)
            _check_is_ours(temporary_folder, archive_path)
        os.rename(temporary_folder, folder)
    finally:
        shutil.rmtree(temporary_folder, ignore_errors=True)


def _extract_files(local_path: PathOrUrl, folder: str, archive_path: PathOrUrl) -> None:
    """Writes what is in an archive, of which nothing leads out of the folder."""
    for member, content in read_tar_gz(local_path, archive_path):
        if content is not None:
            path = os.path.join(folder, member.name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                shutil.copyfileobj(content, file)


@contextmanager
def extracted_archive(
    local_path: PathOrUrl, cleanup: bool = True, archive_path: Optional[PathOrUrl] = None
) -> Iterator[str]:
    """What AllenNLP's function of this name does, for archives that may come from anywhere."""
    with ExitStack() as stack:
        folder = mkdtemp()
        stack.callback(shutil.rmtree, folder)
        _extract_files(local_path, folder, archive_path or local_path)
        if not cleanup:
            stack.pop_all()
        yield folder


@contextmanager
def opened_archive(archive_path: PathOrUrl) -> Iterator[str]:
    """The folder of a training run, or one with what is in an archive; errors are of the archive."""
    with _damage_as_one_sentence(archive_path):
        local_path = cached_path(archive_path)
        if os.path.isdir(local_path):
            yield str(local_path)
        else:
            with extracted_archive(local_path, archive_path=archive_path) as folder:
                yield folder


def _load(
    folder: str,
    archive_path: PathOrUrl,
    cuda_device: int,
    overrides: str = "",
    weights_file: Optional[str] = None,
) -> Archive:
    if is_trusted():
        return archival.load_archive(folder, cuda_device, overrides, weights_file)
    config = read_config(folder, archive_path)
    check_config(config, archive_path)
    weights_path = weights_file or archival.get_weights_path(folder)
    check_files(config, folder, weights_path, archive_path)
    params = Params(_override(config, overrides))
    readers = archival._load_dataset_readers(params.duplicate(), folder)
    # Those of an ensemble are in its members.
    weights = {Path(weights_path), *Path(folder).rglob("*.th")}
    num_bytes = sum(path.stat().st_size for path in weights)
    with parameters_at_most(MAX_GROWTH * num_bytes, archive_path):
        model = archival._load_model(params.duplicate(), weights_path, folder, cuda_device)
    if not config["model"].get("members"):
        check_vectors(model, archive_path)
    meta_path = os.path.join(folder, META_NAME)
    meta = Meta.from_path(meta_path) if os.path.exists(meta_path) else None
    if meta is not None:
        archival._check_version_compatibility(archive_path, meta)
    return Archive(model, params, *readers, meta)


def _override(config: Dict[str, Any], overrides: str) -> Dict[str, Any]:
    """With what the user wants to be otherwise, which is trusted, and may be jsonnet."""
    try:
        changes = parse_overrides(overrides)
        return with_overrides(config, changes) if changes else config
    except (ValueError, KeyError, RuntimeError) as error:
        raise DataError(f"in the overrides: {str(error).splitlines()[0]}") from error


def _check_is_ours(folder: str, archive_path: PathOrUrl) -> None:
    model_type = read_config(folder, archive_path)["model"]["type"]
    model_class = Model.by_name(model_type) if model_type in Model.list_available() else None
    if model_class is None or not model_class.__module__.startswith("bidaf_plugin."):
        raise DataError(
            f"{archive_path}: a model of type {model_type!r:.60}, which is not one of this plugin's"
        )


@contextmanager
def _damage_as_one_sentence(archive_path: PathOrUrl) -> Iterator[None]:
    try:
        yield
    except DataError:
        raise
    except FileNotFoundError as error:
        # One of the archive's own files, or, without a name, the archive itself.
        missing = error.filename and os.path.basename(error.filename)
        what = f"there is no {missing} in it" if missing else "there is no such file"
        raise DataError(f"{archive_path}: {what}") from error
    except DAMAGES as error:
        raise DataError(f"{archive_path}: the archive is truncated or damaged ({error})") from error
    except pickle.UnpicklingError as error:
        raise DataError(
            f"{archive_path}: its weights hold more than tensors, and are not loaded"
        ) from error
    except Exception as error:
        if is_trusted() and not isinstance(error, (RuntimeError, OSError)):
            # The fault may be in the code of the user, who wants to see where.
            raise
        # What torch and AllenNLP say of weights that are damaged, of a model of other sizes, or of numbers
        # that make no sense.
        message = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise DataError(f"{archive_path}: cannot be loaded ({message:.300})") from error

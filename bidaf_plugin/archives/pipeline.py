import os
from os import PathLike
from typing import Any, Optional, Union

from allennlp.common.file_utils import cached_path

from bidaf_plugin.archives.load import load_span_predictor
from bidaf_plugin.archives.packaged import packaged_archive
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.predictors import SpanPredictor
from bidaf_plugin.runtime import QuestionError
from bidaf_plugin.runtime import pipeline as exported_pipeline
from bidaf_plugin.runtime.pipeline import QuestionAnsweringPipeline, check_task

# How a gzipped file begins, as archives are.
_GZIP = b"\x1f\x8b"


def pipeline(
    task: str,
    model: Optional[Union[str, "PathLike[str]"]] = None,
    device: Union[int, str, None] = None,
    **defaults: Any,
) -> QuestionAnsweringPipeline:
    """
    What `transformers.pipeline("question-answering")` was up to version 4, with a model of this package: see
    `QuestionAnsweringPipeline`.

    # Parameters

    task : `str`
        "question-answering".
    model : `Union[str, PathLike]`, optional (default = `None`)
        An archive, the folder of a training run, what `allennlp bidaf export` wrote, or the URL of one of them
        (also `hf://owner/name`). By default the model that comes with the package.
    device : `Union[int, str]`, optional (default = `None`)
        A GPU, `0` or `"cuda:0"`. By default, with `-1` or `"cpu"`, the CPU.
    defaults : `Any`
        Options of calls, for those that do not say them.
    """
    check_task(task)
    cuda_device = _to_cuda_device(device)
    path = packaged_archive() if model is None else os.fspath(model)
    try:
        local_path = cached_path(path)
    except FileNotFoundError as error:
        raise DataError(
            f"{path}: there is no such file; a model is an archive, an exported model, or the URL of one, "
            "like hf://owner/name"
        ) from error
    if not _is_archive(local_path):
        if cuda_device >= 0:
            raise DataError(f"{path}: an exported model answers on the CPU")
        return exported_pipeline(task, local_path, **defaults)
    predictor = load_span_predictor(path, cuda_device)
    if not isinstance(predictor, SpanPredictor):
        raise DataError(
            f"{path}: an ensemble, which does not read long texts in pieces: ask it with load_span_predictor"
        )
    return QuestionAnsweringPipeline(predictor, **defaults)


def _is_archive(path: str) -> bool:
    if os.path.isdir(path):
        return True
    with open(path, "rb") as file:
        return file.read(len(_GZIP)) == _GZIP


def _to_cuda_device(device: Union[int, str, None]) -> int:
    name = "cpu" if device is None else str(device)
    if name in ("cpu", "-1"):
        return -1
    number = "0" if name == "cuda" else name.removeprefix("cuda:")
    if not number.isdecimal():
        raise QuestionError(f"'device' must be a number, 'cpu' or 'cuda:0', not {device!r:.60}")
    return int(number)

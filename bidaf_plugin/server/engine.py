"""
The network of a served model by ONNX Runtime, where that answers a single question faster than torch.
"""

import os
import time
from copy import copy
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Dict, Sequence

import torch
from allennlp.data import Batch, Instance

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.modules.output_layers.span_decoder import TokenSoftmax
from bidaf_plugin.predictors import SpanPredictor
from bidaf_plugin.runtime.session import Session

# What is asked of both, so often: a passage of a usual length, of which the words differ.
_PASSAGE = " ".join(
    f"The mill number {number} was built by Ada Orn in 18{number}." for number in range(10, 22)
)
_NUM_TRIALS = 15


def with_engine(predictor: SpanPredictor, engine: str) -> SpanPredictor:
    """
    # Parameters

    predictor : `SpanPredictor`
    engine : `str`
        `"torch"`, `"onnx"`, or `"auto"` for the faster of them: torch where onnxruntime is not installed, and
        for models that cannot be exported.
    """
    if engine == "torch" or (engine == "auto" and predictor.cuda_device >= 0):
        return predictor
    try:
        exported = _export(predictor)
    except (DataError, ModuleNotFoundError):
        if engine == "onnx":
            raise
        return predictor
    return exported if engine == "onnx" else min(predictor, exported, key=_seconds)


def _export(predictor: SpanPredictor) -> SpanPredictor:
    from bidaf_plugin.export import export_predictor

    if predictor.cuda_device >= 0:
        raise DataError("--engine onnx runs on the CPU: it cannot be had with --cuda-device")
    with TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        export_predictor(predictor, path)
        return with_session(predictor, Session(path, torch.get_num_threads()))


def with_session(predictor: SpanPredictor, session: Session) -> SpanPredictor:
    """The predictor with an exported network, which is its own, in the place of its model's."""
    from bidaf_plugin.export.plain_network import find_kinds, make_arrays

    reader, model = predictor._dataset_reader, predictor._model
    kinds = find_kinds(model, reader._token_indexers)

    def run_model(instances: Sequence[Instance]) -> Dict[str, Any]:
        for instance in instances:
            reader.apply_token_indexers(instance)
        Batch(instances).index_instances(model.vocab)
        outputs = {
            name: torch.from_numpy(array)
            for name, array in session.run(make_arrays(instances, kinds)).items()
        }
        # Shape: (batch_size, passage_length)
        mask = outputs["start_logits"] > torch.finfo(torch.float32).min
        # Shape: (2, batch_size) or None for both
        no_answer = (
            outputs["no_answer_logits"].t() if "no_answer_logits" in outputs else (None,) * 2
        )
        start, end = (
            TokenSoftmax(outputs[f"{side}_logits"], mask, logits).at_temperature(
                model._output_layer.temperature
            )
            for side, logits in zip(("start", "end"), no_answer, strict=True)
        )
        metadata = [instance["metadata"].metadata for instance in instances]
        return {**model._output_layer.decoder.decode(start, end), "metadata": metadata}

    exported = copy(predictor)
    exported.run_model = run_model  # type: ignore[method-assign]
    return exported


def _seconds(predictor: SpanPredictor) -> float:
    """How long a question takes."""
    seconds = []
    for number in range(_NUM_TRIALS):
        began = time.perf_counter()
        predictor.predict(f"Who built the mill number {number}?", _PASSAGE)
        seconds.append(time.perf_counter() - began)
    return median(seconds)

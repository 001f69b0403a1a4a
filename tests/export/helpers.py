"""Predictors of tiny models, and what their exported files say."""

from pathlib import Path
from typing import Any, Dict, List

import numpy
import pytest
import torch
from allennlp.common import Params
from allennlp.data import DatasetReader

from bidaf_plugin.data.dataset_readers.squad_json import read_squad_json
from bidaf_plugin.export.plain_network import find_kinds, make_arrays
from bidaf_plugin.predictors import SpanPredictor
from bidaf_plugin.runtime.exported_model import ExportedModel
from bidaf_plugin.runtime.session import Session
from tests.helpers import build_model, read_tiny


def make_predictor(params: Dict[str, Any], **arguments: Any) -> SpanPredictor:
    """An untrained model, with weights large enough that its answers differ from each other."""
    model = build_model(params, read_tiny(params))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)
    reader = DatasetReader.from_params(Params(params["validation_dataset_reader"]))
    return SpanPredictor(model, reader, **arguments)


def read_records(path: Path) -> List[Dict[str, Any]]:
    return [
        {"id": question.id, "question": question.text, "passage": paragraph.passage}
        for paragraph in read_squad_json(path)
        for question in paragraph.questions
    ]


def assert_same_logits(
    predictor: SpanPredictor, out: Path, records: List[Dict[str, Any]], tolerance: float = 1e-4
) -> None:
    """One by one, and together, where all but the longest are padded."""
    session = Session(out)
    settings = session.metadata["settings"]
    kinds = find_kinds(predictor._model, predictor._dataset_reader._token_indexers)
    instances = [question.instances[0] for question in predictor.make_questions(records)]
    for batch in [instances, *([instance] for instance in instances)]:
        expected = predictor.run_model(batch)
        outputs = session.run(make_arrays(batch, kinds))
        lowest = numpy.finfo(numpy.float32).min
        for side in ("start", "end"):
            logits = expected[f"span_{side}_logits"].numpy()
            is_word = logits > lowest
            found = outputs[f"{side}_logits"]
            numpy.testing.assert_allclose(
                found[is_word] / settings["temperature"],
                logits[is_word],
                rtol=tolerance,
                atol=tolerance,
            )
            assert (found[~is_word] == lowest).all()
        assert ("no_answer_logits" in outputs) == settings["no_answer"]
        if settings["no_answer"]:
            numpy.testing.assert_allclose(
                outputs["no_answer_logits"] / settings["temperature"],
                expected["no_answer_logits"].numpy(),
                rtol=tolerance,
            )


def assert_same_answers(predictor: SpanPredictor, out: Path, records: List[Dict[str, Any]]) -> None:
    """By the program that goes with the file, which cuts the texts itself."""
    expected = predictor.predict_batch_json(records)
    found = ExportedModel(out).answer_all(records)
    for answer, expected_answer in zip(found, expected, strict=True):
        for name in {"confidence", "no_answer_probability"} & set(expected_answer):
            probability = expected_answer.pop(name)
            assert answer.pop(name) == pytest.approx(probability, rel=1e-4)
        assert answer == expected_answer

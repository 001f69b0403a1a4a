import sys
from pathlib import Path
from typing import Any, Dict, List

import pytest

from bidaf_plugin.archives.load import load_span_predictor
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.predictors import SpanPredictor
from bidaf_plugin.server import engine
from bidaf_plugin.server.engine import with_engine
from bidaf_plugin.server.models import load_models
from tests.export.helpers import make_predictor, read_records
from tests.helpers import SAMPLE_V2, TINY_SQUAD, tiny_params


def assert_same(expected: List[Dict[str, Any]], answers: List[Dict[str, Any]]) -> None:
    numbers = ("confidence", "no_answer_probability")
    for first, second in zip(expected, answers, strict=True):
        assert first.keys() == second.keys()
        for name in first:
            value = pytest.approx(first[name], rel=1e-4) if name in numbers else first[name]
            assert second[name] == value


class TestWithEngine:
    def test_onnx_gives_the_same_answers(self) -> None:
        params = tiny_params()
        params["model"]["output_layer"]["temperature"] = 1.7
        predictor = make_predictor(params)
        records = read_records(TINY_SQUAD)
        served = with_engine(predictor, "onnx")
        assert served is not predictor
        expected = predictor.predict_batch_json(records)
        assert_same(expected, served.predict_batch_json(records))
        # Of questions that come alone the model is not asked any more.
        predictor._model.forward = None
        assert_same(expected, [served.predict_json(record) for record in records])
        with pytest.raises(TypeError):
            served.predict_batch_json(records)

    def test_models_that_know_questions_without_an_answer(self, v2_archive: Path) -> None:
        predictor = load_span_predictor(str(v2_archive))
        records = read_records(SAMPLE_V2)[:20]
        served = with_engine(predictor, "onnx")
        expected = predictor.predict_batch_json(records)
        assert_same(expected, [served.predict_json(record) for record in records])

    def test_the_faster_one_is_taken(self, monkeypatch: pytest.MonkeyPatch) -> None:
        predictor = make_predictor(tiny_params())

        def is_slow(slow: bool) -> None:
            seconds = {True: 2.0, False: 1.0}
            monkeypatch.setattr(
                engine, "_seconds", lambda item: seconds[(item is predictor) == slow]
            )

        is_slow(True)
        assert with_engine(predictor, "auto") is not predictor
        is_slow(False)
        assert with_engine(predictor, "auto") is predictor
        assert with_engine(predictor, "torch") is predictor

    def test_what_cannot_be_exported_is_served_by_torch(self) -> None:
        predictor = make_predictor(tiny_params(config="variants/dynamic_attention.jsonnet"))
        assert with_engine(predictor, "auto") is predictor
        with pytest.raises(DataError, match="DynamicAttentionEncoder"):
            with_engine(predictor, "onnx")

    def test_so_is_everything_without_onnx(self, monkeypatch: pytest.MonkeyPatch) -> None:
        predictor = make_predictor(tiny_params())
        for name in [name for name in sys.modules if name.startswith("bidaf_plugin.export")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "onnx", None)
        assert with_engine(predictor, "auto") is predictor
        with pytest.raises(ModuleNotFoundError):
            with_engine(predictor, "onnx")


class TestLoadModels:
    def test_single_span_models_only(
        self, tiny_archive: Path, tiny_cloze_archive: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        chosen = []

        def choose(predictor: SpanPredictor, name: str) -> SpanPredictor:
            chosen.append(name)
            return predictor

        monkeypatch.setattr("bidaf_plugin.server.models.with_engine", choose)
        load_models([str(tiny_archive), str(tiny_cloze_archive)], engine="auto")
        assert chosen == ["auto"]
        with pytest.raises(DataError, match="--engine onnx is for a single model"):
            load_models([str(tiny_cloze_archive)], engine="onnx")

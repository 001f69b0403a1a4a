import json
import time
from pathlib import Path
from typing import Any, Callable, Dict, List

import numpy
import onnx
import pytest
import torch
from onnx import helper

from bidaf_plugin.export import export_archive, export_predictor
from bidaf_plugin.predictors import SpanPredictor
from bidaf_plugin.runtime import ExportedModel, ExportedModelError, QuestionError
from bidaf_plugin.runtime.session import METADATA_KEY, with_checksum
from tests.export.helpers import make_predictor, read_records
from tests.helpers import FIXTURES, TINY_SQUAD, tiny_params

RECORD = {"question": "Who planted it?", "passage": "It was planted by Ada in 1855."}


@pytest.fixture(scope="module")
def exported(tiny_archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exported") / "model.onnx"
    export_archive(str(tiny_archive), str(out))
    return out


def assert_same_answers(predictor: SpanPredictor, out: Path, records: List[Dict[str, Any]]) -> None:
    expected = predictor.predict_batch_json(records)
    model = ExportedModel(out)
    together = model.answer_all(records)
    alone = [model.answer_all([record])[0] for record in records]
    for answers in (together, alone):
        for answer, expected_answer in zip(answers, expected, strict=True):
            assert_same_record(answer, expected_answer)


def assert_same_record(answer: Any, expected: Any) -> None:
    """Numbers but for rounding."""
    if isinstance(expected, float):
        assert answer == pytest.approx(expected, rel=1e-4)
    elif isinstance(expected, dict):
        assert answer.keys() == expected.keys()
        for key in expected:
            assert_same_record(answer[key], expected[key])
    elif isinstance(expected, list):
        for item, expected_item in zip(answer, expected, strict=True):
            assert_same_record(item, expected_item)
    else:
        assert answer == expected


class TestExportedModel:
    @pytest.mark.parametrize("choices", ["", "exact_match:: true", "character_embedding:: false"])
    def test_gives_the_records_of_the_predictor(self, choices: str, tmp_path: Path) -> None:
        predictor = make_predictor(tiny_params(choices), max_passage_tokens=20, stride=13)
        out = tmp_path / "model.onnx"
        export_predictor(predictor, str(out))
        records = (
            read_records(TINY_SQUAD) + read_records(FIXTURES / "squad" / "sample_dev.json")[:30]
        )
        passages = list(dict.fromkeys(record["passage"] for record in records))[:3]
        records += [{"question": r["question"], "passages": passages} for r in records[:4]]
        records += [{**record, "n_best": 4} for record in records]
        assert_same_answers(predictor, out, records)

    @pytest.mark.parametrize("threshold", [None, 0.0, 0.02, 1.0])
    def test_questions_without_an_answer_and_temperature(
        self, threshold: Any, tmp_path: Path
    ) -> None:
        params = tiny_params()
        params["model"]["output_layer"].update(no_answer=True, temperature=1.7)
        predictor = make_predictor(params)
        layer = predictor._model._output_layer
        with torch.no_grad():
            layer._no_answer_logits.copy_(torch.tensor([0.4, -0.3]))
        layer.decoder.set_no_answer_threshold(threshold)
        out = tmp_path / "model.onnx"
        export_predictor(predictor, str(out))
        assert_same_answers(predictor, out, [{**r, "n_best": 2} for r in read_records(TINY_SQUAD)])

    def test_a_distribution_is_that_of_all_words(self, exported: Path) -> None:
        model = ExportedModel(exported)
        long = "Ada planted it. " * 400
        short, whole = model.distributions([("Who?", "Ada did."), ("Who planted it?", long)])
        assert len(short.start_logits) == 3 and len(whole.end_logits) == 4 * 400
        assert short.no_answer_logits is None
        (again,) = model.distributions([("Who?", "Ada did.")])
        numpy.testing.assert_allclose(again.start_logits, short.start_logits, rtol=1e-5)

    def test_options_can_be_changed(self, exported: Path) -> None:
        model = ExportedModel(exported)
        model.max_answer_length = 1
        first, last = model.answer(**RECORD)["best_span"]
        assert first == last
        options = model.options._replace(max_answer_length=2)
        (answer,) = model.answer_all([{**RECORD, "n_best": 100}], options)
        lengths = {item["tokens"][1] - item["tokens"][0] + 1 for item in answer["n_best"]}
        assert lengths == {1, 2}
        assert model.cut_question("Who planted  it?", 2) == "Who planted"

    def test_unknown_words_and_characters_are_answered(self, exported: Path) -> None:
        model = ExportedModel(exported)
        text = "東京 \U0001f600 \u0378 a\x00b " + "x" * 500 + " \u200b \ue000"
        answer = model.answer(text, text)
        start, end = answer["best_span_characters"]
        assert text[start:end] == answer["best_span_str"]

    @pytest.mark.parametrize(
        "record, message",
        [
            ({"question": "", "passage": "x"}, "'question' is empty"),
            ({"question": "x", "passage": " \n\t\u00a0"}, "'passage' is empty"),
            ({"question": "x"}, "'passage' is missing"),
            ({"question": "\ud800", "passage": "x"}, "'question': half a character"),
        ],
    )
    def test_a_bad_question_is_named(self, record: Any, message: str, exported: Path) -> None:
        with pytest.raises(QuestionError, match=message):
            ExportedModel(exported).answer_all([record])

    @pytest.mark.parametrize(
        "chunk, num_characters",
        [
            # With a space, a megabyte.
            ("Ada built the mill in 1871, they say.", 999_999),
            ("((((", 100_000),
            ("word", 100_000),
        ],
    )
    def test_very_long_texts_are_read_in_pieces(
        self, chunk: str, num_characters: int, exported: Path
    ) -> None:
        model = ExportedModel(exported)
        text = (f"{chunk} " * num_characters)[:num_characters].strip()
        began = time.monotonic()
        (answer,) = model.answer_all([{"question": "Who?", "passage": text, "n_best": 3}])
        # Some seconds, of a tiny model.
        assert time.monotonic() - began < 60
        start, end = answer["best_span_characters"]
        assert text[start:end] == answer["best_span_str"]

    @pytest.mark.parametrize(
        "change",
        [
            lambda metadata: metadata["settings"].pop("pieces"),
            lambda metadata: metadata["settings"].update(temperature="x"),
            lambda metadata: metadata["settings"].update(max_answer_length="x"),
            lambda metadata: metadata["settings"].update(max_answer_length=0),
            # What a short passage does not need.
            lambda metadata: metadata["settings"]["pieces"].update(stride=0),
            lambda metadata: metadata["settings"]["pieces"].update(stride=1.5),
            lambda metadata: metadata["settings"]["tokenizer_rules"].update(prefix="("),
            lambda metadata: metadata["settings"]["tokenizer_rules"]["special_cases"].update(
                {"ab": ["b"]}
            ),
            lambda metadata: metadata["settings"]["question_tokenizer"].update(x=1),
            lambda metadata: metadata["vocabulary"].update(tokens=5),
        ],
    )
    def test_settings_with_a_forged_checksum_are_refused_in_one_sentence(
        self, change: Callable[[Dict[str, Any]], Any], exported: Path, tmp_path: Path
    ) -> None:
        model = onnx.load(str(exported))
        metadata = json.loads(model.metadata_props[0].value)
        change(metadata)
        helper.set_model_props(model, {METADATA_KEY: json.dumps(metadata)})
        path = tmp_path / "forged.onnx"
        path.write_bytes(with_checksum(model.SerializeToString()))
        with pytest.raises(ExportedModelError, match=f"^{path}: .*settings") as caught:
            ExportedModel(path)
        assert "\n" not in str(caught.value)

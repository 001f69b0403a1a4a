import json
import zipfile
from copy import deepcopy
from pathlib import Path
from typing import Any, Dict, List

import pytest
import torch
from allennlp.common import Params
from allennlp.data import DatasetReader

from bidaf_plugin.archives.load import load_span_predictor
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.squad_json import read_squad_json
from bidaf_plugin.export import export_archive, export_predictor
from bidaf_plugin.export.standalone import ExportedModel
from bidaf_plugin.predictors import SpanPredictor
from tests.helpers import FIXTURES, ROOT, TINY_SQUAD, build_model, read_tiny, tiny_params

VARIANTS = sorted(path.name for path in (ROOT / "training_configs" / "variants").glob("*.jsonnet"))


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


def assert_same_answers(predictor: SpanPredictor, out: Path, records: List[Dict[str, Any]]) -> None:
    expected = predictor.predict_batch_json(records)
    for answer, expected_answer in zip(
        ExportedModel(out).answer_all(records), expected, strict=True
    ):
        confidence = expected_answer.pop("confidence")
        assert answer.pop("confidence") == pytest.approx(confidence, rel=1e-4)
        probability = expected_answer.pop("no_answer_probability", 0)
        assert answer.pop("no_answer_probability", 0) == pytest.approx(probability, rel=1e-4)
        assert answer == expected_answer


class TestExportPredictor:
    @pytest.mark.parametrize("name", VARIANTS)
    def test_every_variant_gives_the_same_answers(self, name: str, tmp_path: Path) -> None:
        predictor = make_predictor(tiny_params(config=f"variants/{name}"))
        out = tmp_path / "model.zip"
        export_predictor(predictor, str(out))
        assert_same_answers(predictor, out, read_records(TINY_SQUAD))

    @pytest.mark.parametrize(
        "choices",
        [
            "lstm:: 'lstm', num_modeling_layers:: 3, max_answer_length:: 2",
            "num_hops:: 3, beta:: 'mlp', query_to_context:: false, end_input:: 'paper_text'",
            "attention:: 'dynamic', num_modeling_layers:: 1, num_highway_layers:: 1",
        ],
    )
    def test_other_choices_give_the_same_answers(self, choices: str, tmp_path: Path) -> None:
        predictor = make_predictor(tiny_params(choices))
        out = tmp_path / "model.zip"
        export_predictor(predictor, str(out))
        records = read_records(FIXTURES / "squad" / "sample_dev.json")
        assert_same_answers(predictor, out, records[:40])

    def test_the_word_indexer_of_allennlp(self, tmp_path: Path) -> None:
        params = tiny_params()
        indexers = params["validation_dataset_reader"]["token_indexers"]
        indexers["tokens"]["type"] = "single_id"
        predictor = make_predictor(deepcopy(params))
        out = tmp_path / "model.zip"
        export_predictor(predictor, str(out))
        assert_same_answers(predictor, out, read_records(TINY_SQUAD))
        indexers["tokens"]["end_tokens"] = ["."]
        with pytest.raises(DataError, match="token_indexers.tokens has 'start_tokens' or"):
            export_predictor(make_predictor(params), str(out))

    def test_long_passages_and_several(self, tmp_path: Path) -> None:
        predictor = make_predictor(tiny_params(), max_passage_tokens=20, stride=13)
        out = tmp_path / "model.zip"
        export_predictor(predictor, str(out))
        records = read_records(TINY_SQUAD)
        passages = list(dict.fromkeys(record["passage"] for record in records))
        records += [
            {"id": number, "question": record["question"], "passages": passages}
            for number, record in enumerate(records)
        ]
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
        out = tmp_path / "model.zip"
        export_predictor(predictor, str(out))
        assert_same_answers(predictor, out, read_records(TINY_SQUAD))

    @pytest.mark.parametrize(
        "key, value, message",
        [
            (
                "contextual_layer",
                {"type": "gru", "input_size": 10, "hidden_size": 5, "bidirectional": True},
                "contextual_layer is of class GruSeq2SeqEncoder, which cannot be exported",
            ),
            (
                "contextual_layer",
                {"type": "lstm", "input_size": 10, "hidden_size": 10},
                "contextual_layer has an LSTM of one direction",
            ),
            (
                "attention.similarity",
                {"type": "cosine"},
                "attention.similarity is of class CosineMatrixAttention",
            ),
            (
                "attention.similarity",
                {"type": "linear", "tensor_1_dim": 10, "tensor_2_dim": 10, "combination": "x-y"},
                "attention.similarity has the combination 'x-y'",
            ),
            (
                "attention.similarity",
                {
                    "type": "bilinear",
                    "matrix_1_dim": 10,
                    "matrix_2_dim": 10,
                    "activation": "tanh",
                },
                "attention.similarity has an 'activation'",
            ),
            (
                "text_field_embedder.token_embedders.token_characters.encoder",
                {
                    "type": "cnn",
                    "embedding_dim": 3,
                    "num_filters": 1,
                    "ngram_filter_sizes": [2] * 4,
                },
                "token_embedders.token_characters.encoder is of class CnnEncoder",
            ),
        ],
    )
    def test_what_cannot_be_exported_is_named(
        self, key: str, value: Dict[str, Any], message: str, tmp_path: Path
    ) -> None:
        params = tiny_params()
        part = params["model"]
        *path, last = key.split(".")
        for name in path:
            part = part[name]
        part[last] = value
        with pytest.raises(DataError, match=message):
            export_predictor(make_predictor(params), str(tmp_path / "model.zip"))
        assert list(tmp_path.iterdir()) == []

    def test_other_tokenizers_are_refused(self, tmp_path: Path) -> None:
        params = tiny_params()
        params["validation_dataset_reader"]["tokenizer"] = {"type": "whitespace"}
        with pytest.raises(DataError, match="passage_tokenizer is of class WhitespaceTokenizer"):
            export_predictor(make_predictor(params), str(tmp_path / "model.zip"))

    def test_a_model_that_answers_differently_is_not_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        predictor = make_predictor(tiny_params())
        monkeypatch.setattr(
            predictor,
            "predict_batch_json",
            lambda records: [{"best_span": [3, 2], "confidence": 0.5}] * len(records),
        )
        with pytest.raises(DataError, match="the model cannot be exported: it would answer"):
            export_predictor(predictor, str(tmp_path / "model.zip"))
        assert list(tmp_path.iterdir()) == []


class TestExportArchive:
    def test_a_trained_archive(self, tiny_archive: Path, tmp_path: Path) -> None:
        out = tmp_path / "model.zip"
        manifest = export_archive(str(tiny_archive), str(out))
        assert manifest["origin"]["archive"] == "model.tar.gz"
        predictor = load_span_predictor(str(tiny_archive))
        assert_same_answers(predictor, out, read_records(FIXTURES / "squad" / "sample_dev.json"))
        # The same again gives the same bytes.
        again = tmp_path / "again.zip"
        export_archive(str(tiny_archive), str(again))
        assert again.read_bytes() == out.read_bytes()

    def test_the_file_holds_json_tensors_and_program_only(
        self, tiny_archive: Path, tmp_path: Path
    ) -> None:
        out = tmp_path / "model.zip"
        export_archive(str(tiny_archive), str(out))
        with zipfile.ZipFile(out) as archive:
            names = archive.namelist()
            manifest = json.loads(archive.read("manifest.json"))
            program = "".join(
                archive.read(name).decode("utf-8") for name in names if name.endswith(".py")
            )
        assert {Path(name).suffix for name in names} == {".json", ".safetensors", ".py"}
        assert sorted(manifest["sha256"]) == sorted(set(names) - {"manifest.json"})
        for forbidden in ("import allennlp", "from allennlp", "spacy\n", "pickle", "bidaf_plugin"):
            assert forbidden not in program, forbidden

    def test_limits_and_words_can_be_given(self, tiny_archive: Path, tmp_path: Path) -> None:
        vectors = tmp_path / "vectors.txt"
        vectors.write_text("zeppelin " + " ".join(["0.5"] * 6) + "\n")
        out = tmp_path / "model.zip"
        arguments: Dict[str, Any] = {"max_answer_length": 1, "pretrained_file": str(vectors)}
        export_archive(str(tiny_archive), str(out), **arguments)
        predictor = load_span_predictor(str(tiny_archive), **arguments)
        records = [{"id": 7, "question": "What flew?", "passage": "A zeppelin flew, it is said."}]
        assert_same_answers(predictor, out, records)
        first, last = ExportedModel(out).answer_all(records)[0]["best_span"]
        assert first == last

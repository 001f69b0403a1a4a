import json
import zipfile
from copy import deepcopy
from pathlib import Path
from typing import Any, Dict

import numpy
import pytest
import torch

from bidaf_plugin.analysis.attention import find_attention_of_instances
from bidaf_plugin.archives.load import load_span_predictor
from bidaf_plugin.archives.packaged import packaged_archive
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.export import export_archive, export_predictor
from bidaf_plugin.export.plain_network import find_kinds, make_arrays
from bidaf_plugin.runtime.exported_model import ExportedModel
from bidaf_plugin.runtime.session import Session
from tests.export.helpers import (
    assert_same_answers,
    assert_same_logits,
    make_predictor,
    read_records,
)
from tests.helpers import FIXTURES, ROOT, TINY_SQUAD, tiny_params

VARIANTS = sorted(path.name for path in (ROOT / "training_configs" / "variants").glob("*.jsonnet"))
STATIC_VARIANTS = [name for name in VARIANTS if name != "dynamic_attention.jsonnet"]


class TestExportPredictor:
    @pytest.mark.parametrize("name", STATIC_VARIANTS)
    def test_every_static_variant_gives_the_same_logits(self, name: str, tmp_path: Path) -> None:
        predictor = make_predictor(tiny_params(config=f"variants/{name}"))
        out = tmp_path / "model.onnx"
        export_predictor(predictor, str(out))
        records = read_records(TINY_SQUAD)
        assert_same_logits(predictor, out, records)
        assert_same_answers(predictor, out, records)

    @pytest.mark.parametrize(
        "choices",
        [
            "lstm:: 'lstm', num_modeling_layers:: 3, max_answer_length:: 2",
            "lstm:: 'lstm', self_attention:: true",
            "self_attention:: 'inside', projection:: true, exact_match:: true, no_answer:: true, "
            "no_answer_summary:: true, variational_dropout:: true",
            "num_hops:: 3, beta:: 'mlp', query_to_context:: false, end_input:: 'paper_text'",
            "exact_match:: true",
            "exact_match:: true, word_embedding:: false, num_highway_layers:: 0",
        ],
    )
    def test_other_choices_give_the_same_logits(self, choices: str, tmp_path: Path) -> None:
        predictor = make_predictor(tiny_params(choices))
        out = tmp_path / "model.onnx"
        export_predictor(predictor, str(out))
        records = read_records(FIXTURES / "squad" / "sample_dev.json")
        assert_same_logits(predictor, out, records[:20])
        assert_same_answers(predictor, out, records[:20])

    def test_questions_without_an_answer_and_temperature(self, tmp_path: Path) -> None:
        params = tiny_params()
        params["model"]["output_layer"].update(no_answer=True, temperature=1.7)
        predictor = make_predictor(params, no_answer_threshold=0.3)
        with torch.no_grad():
            predictor._model._output_layer._no_answer_logits.copy_(torch.tensor([0.4, -0.3]))
        out = tmp_path / "model.onnx"
        export_predictor(predictor, str(out))
        assert_same_logits(predictor, out, read_records(TINY_SQUAD))
        session = Session(out)
        assert session.output_names == ["start_logits", "end_logits", "no_answer_logits"]
        assert session.metadata["settings"]["no_answer_threshold"] == 0.3

    def test_similarities_of_allennlp_that_no_config_has(self, tmp_path: Path) -> None:
        params = tiny_params()
        params["model"]["attention"]["similarity"] = {"type": "cosine"}
        predictor = make_predictor(params)
        out = tmp_path / "model.onnx"
        export_predictor(predictor, str(out))
        assert_same_logits(predictor, out, read_records(TINY_SQUAD))

    def test_the_word_indexer_of_allennlp(self, tmp_path: Path) -> None:
        params = tiny_params()
        indexers = params["validation_dataset_reader"]["token_indexers"]
        indexers["tokens"]["type"] = "single_id"
        predictor = make_predictor(deepcopy(params))
        out = tmp_path / "model.onnx"
        export_predictor(predictor, str(out))
        assert_same_logits(predictor, out, read_records(TINY_SQUAD))
        indexers["tokens"]["end_tokens"] = ["."]
        with pytest.raises(DataError, match="a token indexer has .* 'end_tokens', which cannot be"):
            export_predictor(make_predictor(params), str(out))

    @pytest.mark.parametrize("choices", ["", "num_hops:: 2", "query_to_context:: false"])
    def test_attention_is_among_the_outputs_if_asked_for(
        self, choices: str, tmp_path: Path
    ) -> None:
        predictor = make_predictor(tiny_params(choices))
        out = tmp_path / "model.onnx"
        export_predictor(predictor, str(out), attention=True)
        (question,) = predictor.make_questions(read_records(TINY_SQUAD)[:1])
        (expected,) = find_attention_of_instances(predictor, question.instances)
        kinds = find_kinds(predictor._model, predictor._dataset_reader._token_indexers)
        outputs = Session(out).run(make_arrays(question.instances, kinds))
        matrix = outputs["passage_question_attention"][0].T
        numpy.testing.assert_allclose(matrix, expected.matrix, rtol=1e-4)
        assert ("question_passage_attention" in outputs) == ("false" not in choices)
        if expected.passage_weights is not None:
            weights = outputs["question_passage_attention"][0]
            numpy.testing.assert_allclose(weights, expected.passage_weights, rtol=1e-4)

    def test_a_model_that_answers_differently_is_not_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        predictor = make_predictor(tiny_params())
        run_model = predictor.run_model

        def run_otherwise(instances: Any) -> Dict[str, Any]:
            output_dict = run_model(instances)
            if len(instances) > 1:
                output_dict["span_end_logits"][1, 0] += 0.01
            return output_dict

        monkeypatch.setattr(predictor, "run_model", run_otherwise)
        with pytest.raises(DataError, match="end_logits of .* would differ by 1.0e-02"):
            export_predictor(predictor, str(tmp_path / "model.onnx"))
        assert list(tmp_path.iterdir()) == []


class TestExportArchive:
    def test_a_trained_archive(self, tiny_archive: Path, tmp_path: Path) -> None:
        out = tmp_path / "model.onnx"
        export_archive(str(tiny_archive), str(out), licence="CC0", card="A model.")
        predictor = load_span_predictor(str(tiny_archive))
        records = read_records(FIXTURES / "squad" / "sample_dev.json")
        assert_same_logits(predictor, out, records[:30])
        metadata = Session(out).metadata
        assert (metadata["licence"], metadata["card"]) == ("CC0", "A model.")
        # The same again gives the same bytes.
        again = tmp_path / "again.onnx"
        export_archive(str(tiny_archive), str(again), licence="CC0", card="A model.")
        assert again.read_bytes() == out.read_bytes()

    def test_a_zip_file_holds_network_and_program_only(
        self, tiny_archive: Path, tmp_path: Path
    ) -> None:
        for name in ("model.onnx", "model.zip", "again.zip"):
            export_archive(str(tiny_archive), str(tmp_path / name))
        with zipfile.ZipFile(tmp_path / "model.zip") as archive:
            names = archive.namelist()
            assert archive.read("model.onnx") == (tmp_path / "model.onnx").read_bytes()
            program = "".join(
                archive.read(name).decode("utf-8") for name in names if name.endswith(".py")
            )
        assert {Path(name).suffix for name in names} == {".onnx", ".py"}
        for forbidden in ("import torch", "import allennlp", "import spacy", "bidaf_plugin"):
            assert forbidden not in program, forbidden
        again = (tmp_path / "again.zip").read_bytes()
        assert again == (tmp_path / "model.zip").read_bytes()

    def test_limits_and_words_can_be_given(self, tiny_archive: Path, tmp_path: Path) -> None:
        vectors = tmp_path / "vectors.txt"
        vectors.write_text("zeppelin " + " ".join(["0.5"] * 6) + "\n")
        out = tmp_path / "model.onnx"
        arguments: Dict[str, Any] = {"max_answer_length": 1, "pretrained_file": str(vectors)}
        export_archive(str(tiny_archive), str(out), **arguments)
        predictor = load_span_predictor(str(tiny_archive), **arguments)
        records = [{"id": 7, "question": "What flew?", "passage": "A zeppelin flew, it is said."}]
        assert_same_logits(predictor, out, records)
        metadata = Session(out).metadata
        assert metadata["settings"]["max_answer_length"] == 1
        assert "zeppelin" in metadata["vocabulary"]["tokens"]


class TestPackagedModel:
    def test_the_same_answers_in_one_file(self, tmp_path: Path) -> None:
        predictor = load_span_predictor(packaged_archive())
        lines = (ROOT / "pretrained" / "examples.jsonl").read_text(encoding="utf-8").splitlines()
        records = [json.loads(line) for line in lines]
        for name, int8 in (("float.zip", False), ("int8.zip", True)):
            export_predictor(predictor, str(tmp_path / name), int8=int8)
        assert_same_answers(predictor, tmp_path / "float.zip", records)
        assert (tmp_path / "int8.zip").stat().st_size < 12_500_000
        expected = predictor.predict_batch_json(records)
        found = ExportedModel(tmp_path / "int8.zip").answer_all(records)
        for answer, expected_answer in zip(found, expected, strict=True):
            assert answer["confidence"] == pytest.approx(expected_answer["confidence"], abs=0.05)

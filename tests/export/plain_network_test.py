from pathlib import Path
from typing import Any, Dict

import numpy
import pytest
import torch

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.export import export_predictor
from bidaf_plugin.export.plain_network import PlainNetwork, make_arrays
from tests.export.helpers import make_predictor, read_records
from tests.helpers import TINY_SQUAD, tiny_params


class TestPlainNetwork:
    def test_lengths_decide_what_is_padding(self) -> None:
        predictor = make_predictor(tiny_params("exact_match:: true"))
        network = PlainNetwork(predictor._model, predictor._dataset_reader._token_indexers, False)
        instances = [q.instances[0] for q in predictor.make_questions(read_records(TINY_SQUAD))]
        predictor.run_model(instances)
        arrays = make_arrays(instances, network.kind_of_indexer)
        other = {name: array.copy() for name, array in arrays.items()}
        for name, array in other.items():
            if not name.endswith("lengths"):
                array[array == 0] = 1
        # Within words, characters that are not there are still padding.
        for side in ("question", "passage"):
            length = arrays[f"{side}_words"].shape[1]
            is_word = numpy.arange(length) < arrays[f"{side}_lengths"][:, None]
            characters = arrays[f"{side}_characters"]
            other[f"{side}_characters"] = numpy.where(is_word[..., None], characters, 1)
        with torch.no_grad():
            expected, found = (
                network(*(torch.from_numpy(inputs[name]) for name in network.input_names))
                for inputs in (arrays, other)
            )
        assert any((other[name] != arrays[name]).any() for name in arrays)
        for logits, other_logits in zip(expected, found, strict=True):
            assert torch.equal(logits, other_logits)

    def test_the_model_stays_as_it_was(self) -> None:
        params = tiny_params()
        params["model"]["output_layer"]["temperature"] = 1.7
        predictor = make_predictor(params)
        before = repr(predictor._model), predictor.predict("Who?", "It was Ada Orn.")
        PlainNetwork(predictor._model, predictor._dataset_reader._token_indexers, True)
        assert before == (repr(predictor._model), predictor.predict("Who?", "It was Ada Orn."))

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
                "contextual_layer is an LSTM of one direction",
            ),
            (
                "text_field_embedder.token_embedders.tokens",
                {"type": "pass_through", "hidden_dim": 6},
                "token_embedders.tokens is of class PassThroughTokenEmbedder",
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

    def test_dynamic_attention_is_refused(self, tmp_path: Path) -> None:
        predictor = make_predictor(tiny_params(config="variants/dynamic_attention.jsonnet"))
        with pytest.raises(DataError, match="modeling_layer is of class DynamicAttentionEncoder"):
            export_predictor(predictor, str(tmp_path / "model.onnx"))
        assert list(tmp_path.iterdir()) == []

    def test_other_tokenizers_are_refused(self, tmp_path: Path) -> None:
        params = tiny_params()
        params["validation_dataset_reader"]["tokenizer"] = {"type": "whitespace"}
        with pytest.raises(DataError, match="passage_tokenizer is of class WhitespaceTokenizer"):
            export_predictor(make_predictor(params), str(tmp_path / "model.zip"))

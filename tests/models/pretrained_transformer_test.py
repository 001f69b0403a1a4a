"""
AllenNLP's embedders of transformers in a model of this package, by config alone: a tiny one with random
weights, made here.
"""

import json
from pathlib import Path
from typing import Any, Dict

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.models import load_archive

from bidaf_plugin.predictors import SpanPredictor
from tests.helpers import as_tensors, build_model, read_tiny, tiny_params

transformers = pytest.importorskip(
    "transformers", reason="needs transformers: pip install 'bidaf_plugin[transformers]'"
)
# Apart from the small letters these are enough to cut every word into pieces.
PIECES = "abcdefghijklmnopqrstuvwxyz0123456789"
SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@pytest.fixture
def tiny_transformer(tmp_path: Path) -> str:
    """The folder of a BERT of two layers, with a vocabulary of letters and digits."""
    folder = tmp_path / "tiny_transformer"
    folder.mkdir()
    pieces = [*SPECIAL_TOKENS, *PIECES, *(f"##{piece}" for piece in PIECES)]
    (folder / "vocab.txt").write_text("\n".join(pieces))
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"))
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(pieces),
        hidden_size=10,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=512,
    )
    transformers.BertModel(config).save_pretrained(folder)
    return str(folder)


def with_transformer(kind: str, folder: str) -> Dict[str, Any]:
    """The tiny experiment with the vectors of a transformer instead of word vectors."""
    params = tiny_params()
    transformer = {"type": kind, "model_name": folder}
    for reader in ("dataset_reader", "validation_dataset_reader"):
        params[reader]["token_indexers"] = {"pieces": {**transformer}}
        if kind == "pretrained_transformer":
            params[reader]["tokenizer"] = {**transformer, "add_special_tokens": False}
            del params[reader]["question_tokenizer"]
    params["model"]["text_field_embedder"] = {"token_embedders": {"pieces": {**transformer}}}
    params.pop("vocabulary", None)
    return params


@pytest.mark.parametrize("kind", ["pretrained_transformer", "pretrained_transformer_mismatched"])
def test_trains_the_transformer_and_answers(
    kind: str, tiny_transformer: str, tmp_path: Path
) -> None:
    params = with_transformer(kind, tiny_transformer)
    run = tmp_path / "run"
    trained = train_model(Params(params), str(run))
    before = transformers.BertModel.from_pretrained(tiny_transformer).state_dict()
    name = "encoder.layer.0.attention.self.query.weight"
    after = next(value for key, value in trained.state_dict().items() if key.endswith(name))
    assert not torch.equal(after, before[name])

    archive = load_archive(run / "model.tar.gz")
    predictor = SpanPredictor.from_archive(archive, "bidaf")
    passage = "The mill was built by Ada Orn."
    answer = predictor.predict_json({"question": "Who built it?", "passage": passage})
    assert answer["best_span_str"] in passage and answer["best_span_str"]


@pytest.mark.parametrize("is_trained", [False, True])
def test_a_config_puts_a_transformer_in_the_place_of_word_vectors(
    is_trained: bool, tiny_transformer: str, tmp_path: Path
) -> None:
    choices = f"transformer:: '{tiny_transformer}', transformer_dim:: 10, num_epochs:: 1"
    trained = f"transformer_trained:: {json.dumps(is_trained)}"
    params = tiny_params(f"{choices}, {trained}", "bidaf_transformer.jsonnet")
    model = train_model(Params(params), str(tmp_path / "run"))
    before = transformers.BertModel.from_pretrained(tiny_transformer).state_dict()
    name = "encoder.layer.0.attention.self.query.weight"
    after = next(value for key, value in model.state_dict().items() if key.endswith(name))
    assert torch.equal(after, before[name]) != is_trained
    mixed = [
        name for name, p in model.named_parameters() if "_scalar_mix" in name and p.grad is not None
    ]
    assert mixed

    archive = load_archive(tmp_path / "run" / "model.tar.gz")
    predictor = SpanPredictor.from_archive(archive, "bidaf")
    answer = predictor.predict("Who built it?", "The mill was built by Ada Orn.")
    assert answer["best_span_str"]


def test_a_transformer_goes_beside_word_vectors_and_characters(tiny_transformer: str) -> None:
    params = tiny_params(f"transformer:: '{tiny_transformer}', transformer_dim:: 10")
    instances = read_tiny(params)
    model = build_model(params, instances)
    assert model(**as_tensors(instances, model.vocab))["loss"] > 0

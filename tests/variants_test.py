"""Every file of training_configs/variants, in tiny: it learns, is saved, and answers."""

from pathlib import Path
from typing import Any, Dict, List

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive
from allennlp.predictors import Predictor

from bidaf_plugin.predictors.span_predictor import SpanPredictor
from tests.helpers import FIXTURES, ROOT, as_tensors, build_model, read_tiny, tiny_params

VARIANTS = sorted(path.name for path in (ROOT / "training_configs" / "variants").glob("*.jsonnet"))
# Softmax does not see what is added to all of its inputs, so these cannot learn anything.
SHIFTS = {
    "_attention._similarity._bias",
    "_modeling_layer.encoder0._similarity._bias",  # self-attention
    "_modeling_layer.encoder1._similarity._bias",
    "_output_layer._start_scorer.bias",
    "_output_layer._end_scorer.bias",
}
QUESTIONS = [
    {"question": "Who built it?", "passage": "The mill was built by Ada Orn in 1871.", "id": "1"},
    {"question": "Why", "passage": "Because", "id": "2"},
]


def variant_params(name: str, choices: str = "") -> Dict[str, Any]:
    return tiny_params(choices, config=f"variants/{name}")


def without_gradient(model: torch.nn.Module) -> List[str]:
    """The trainable parameters whose gradient is nothing but rounding."""
    return [
        name
        for name, parameter in model.named_parameters()
        if parameter.requires_grad and (parameter.grad is None or parameter.grad.abs().max() < 1e-5)
    ]


class TestVariants:
    @pytest.mark.parametrize("name", VARIANTS)
    def test_gradients_reach_every_parameter(self, name: str) -> None:
        params = variant_params(name)
        instances = read_tiny(params)
        model = build_model(params, instances)
        # At the start of training some gradients are so small that rounding would hide them.
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(2)
        model(**as_tensors(instances, model.vocab))["loss"].backward()
        without = set(without_gradient(model))
        assert without == SHIFTS & {
            parameter_name for parameter_name, _ in model.named_parameters()
        }

    @pytest.mark.parametrize("name", VARIANTS)
    def test_trains_saves_loads_and_predicts(self, name: str, tmp_path: Path) -> None:
        params = variant_params(name, "batch_size:: 4, max_passage_length:: 40")
        params["train_data_path"] = str(FIXTURES / "squad" / "sample_train.json")
        params["dataset_reader"]["max_instances"] = 120
        params["data_loader"]["batches_per_epoch"] = 30
        run = tmp_path / "run"
        trained = train_model(Params(params), str(run)).eval()

        archive = load_archive(run / "model.tar.gz")
        loaded = archive.model.eval()
        for (key, value), (loaded_key, loaded_value) in zip(
            trained.state_dict().items(), loaded.state_dict().items(), strict=True
        ):
            assert key == loaded_key
            assert torch.equal(value, loaded_value), key

        answers = Predictor.from_archive(archive).predict_batch_json(QUESTIONS)
        reader = archive.validation_dataset_reader
        assert answers == SpanPredictor(trained, reader).predict_batch_json(QUESTIONS)
        for question, answer in zip(QUESTIONS, answers, strict=True):
            assert answer["id"] == question["id"]
            start, end = answer["best_span_characters"]
            assert question["passage"][start:end] == answer["best_span_str"] != ""

    @pytest.mark.parametrize(
        "choice, known",
        [
            ("alpha", "bilinear, dot, linear, linear_after_mlp, trilinear"),
            ("beta", "concat, mlp"),
            ("attention", "dynamic, static"),
        ],
    )
    def test_an_unknown_choice_is_refused_with_the_known_ones(
        self, choice: str, known: str
    ) -> None:
        with pytest.raises(RuntimeError, match=f"{choice} is magic; it must be one of: {known}\n"):
            tiny_params(f"{choice}:: 'magic'")

    def test_no_embedding_at_all_is_refused(self) -> None:
        with pytest.raises(RuntimeError, match="both false: the model would see no words"):
            tiny_params("character_embedding:: false, word_embedding:: false")

    def test_no_attention_at_all_is_refused(self) -> None:
        params = tiny_params("context_to_query:: false, query_to_context:: false")
        with pytest.raises(ConfigurationError, match="attends to nothing: leave one of them on"):
            build_model(params, read_tiny(params))

    def test_no_hop_is_refused(self) -> None:
        params = tiny_params("num_hops:: 0")
        with pytest.raises(ConfigurationError, match="num_hops must be 1 or more, not 0"):
            build_model(params, read_tiny(params))

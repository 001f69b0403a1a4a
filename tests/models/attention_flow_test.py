import json
from pathlib import Path
from random import Random
from typing import Any, Dict, Iterator

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader
from allennlp.models import load_archive
from allennlp.nn.parallel import TorchDdpAccelerator

from bidaf_plugin.common.errors import DataError
from tests.helpers import (
    SAMPLE_V2,
    TINY_SQUAD,
    as_tensors,
    build_model,
    read_tiny,
    tiny_params,
    without_onednn,
)


@pytest.fixture
def one_process_group() -> Iterator[None]:
    """Distributed training with this process alone."""
    torch.distributed.init_process_group(
        "gloo", store=torch.distributed.HashStore(), rank=0, world_size=1
    )
    yield
    torch.distributed.destroy_process_group()


class TestAttentionFlow:
    def test_trains_saves_and_loads(self, tmp_path: Path) -> None:
        params = tiny_params()
        model = train_model(Params(tiny_params()), str(tmp_path / "run")).eval()
        loaded = load_archive(tmp_path / "run" / "model.tar.gz").model.eval()
        for (name, parameter), (_, other) in zip(
            model.state_dict().items(), loaded.state_dict().items(), strict=True
        ):
            assert torch.equal(parameter, other), name
        tensors = as_tensors(read_tiny(params), model.vocab)
        for key in ("span_start_log_probs", "span_end_log_probs", "loss"):
            assert torch.equal(model(**tensors)[key], loaded(**tensors)[key])

    def test_gradients_reach_every_parameter(self) -> None:
        params = tiny_params()
        instances = read_tiny(params)
        model = build_model(params, instances)
        model(**as_tensors(instances, model.vocab))["loss"].backward()
        without = [
            name
            for name, parameter in model.named_parameters()
            if parameter.grad is None or not parameter.grad.any()
        ]
        # Adding a constant to all similarities changes no softmax, so the bias of alpha stays put.
        assert without in ([], ["_attention._similarity._bias"])

    def test_fixed_word_vectors_are_not_sent_around_in_distributed_training(
        self, one_process_group: None
    ) -> None:
        params = tiny_params()
        instances = read_tiny(params)
        model = build_model(params, instances).train()
        assert len(list(model.buffers())) == 2
        accelerator = TorchDdpAccelerator(
            local_rank=0, world_size=1, cuda_device=torch.device("cpu")
        )
        _, wrapped = accelerator.wrap_model(model)
        # What torch sends before each step.
        assert wrapped.model.modules_buffers == []
        wrapped.model(**as_tensors(instances, model.vocab))["loss"].backward()
        assert "_text_field_embedder.token_embedder_tokens.fixed" in wrapped.state_dict()

    def test_batch_size_order_and_padding_change_no_answer(self) -> None:
        params = tiny_params()
        instances = read_tiny(params)
        model = build_model(params, instances)
        alone = [model.forward_on_instance(instance) for instance in instances]
        for seed in range(5):
            order = list(range(len(instances)))
            Random(seed).shuffle(order)
            together = model.forward_on_instances([instances[i] for i in order])
            for index, prediction in zip(order, together, strict=True):
                assert prediction["best_span_str"] == alone[index]["best_span_str"]
                assert prediction["id"] == alone[index]["id"]
                assert prediction["confidence"] == pytest.approx(
                    alone[index]["confidence"], rel=1e-5
                )

    def test_words_and_passages_are_encoded_once_per_batch(self) -> None:
        """The fixture has several questions on a passage: same values, less work."""
        params = tiny_params()
        instances = read_tiny(params)
        model = build_model(params, instances)
        tensors = as_tensors(instances, model.vocab)
        num_texts, num_words = [], []
        model._contextual_layer.register_forward_pre_hook(
            lambda _, inputs: num_texts.append(len(inputs[1]))
        )
        model._highway.register_forward_pre_hook(
            lambda _, inputs: num_words.append(inputs[0].size(1))
        )
        once = model(**tensors)
        passages = {instance["metadata"]["passage"] for instance in instances}
        words = {
            token.text
            for instance in instances
            for text in ("question", "passage")
            for token in instance["metadata"][f"{text}_tokens"]
        }
        assert num_texts == [len(instances), len(passages)] and len(passages) < len(instances)
        # Padding is one word more, and there are a multiple of 32.
        assert len(num_words) == 1 and num_words[0] < len(words) + 1 + 32
        model._embeds_distinct_words = False
        each = model(**tensors)
        assert num_texts[2:] == [len(instances)] * 2
        torch.testing.assert_close(once["loss"], each["loss"])
        torch.testing.assert_close(once["span_end_log_probs"], each["span_end_log_probs"])

    def test_answers_are_cut_from_the_passage(self) -> None:
        params = tiny_params()
        instances = read_tiny(params)
        model = build_model(params, instances)
        for instance, prediction in zip(
            instances, model.forward_on_instances(instances), strict=True
        ):
            passage = instance["metadata"]["passage"]
            start, end = prediction["best_span_characters"]
            assert passage[start:end] == prediction["best_span_str"]
            assert prediction["best_span_str"].strip()

    def test_questions_without_answers_count_for_nothing(self) -> None:
        params = tiny_params()
        instances = read_tiny(params)
        model = build_model(params, instances)
        tensors = as_tensors(instances, model.vocab)
        loss = model(**tensors)["loss"]
        metrics = model.get_metrics(reset=True)

        reader = DatasetReader.from_params(Params(params["validation_dataset_reader"]))
        own_text = reader.text_to_instance("Who?", "It was Ada.")
        reader.apply_token_indexers(own_text)
        mixed = as_tensors([*instances, own_text], model.vocab)
        torch.testing.assert_close(model(**mixed)["loss"], loss)
        assert model.get_metrics(reset=True) == metrics

        alone = as_tensors([own_text], model.vocab)
        assert "loss" not in model(**alone)
        assert model.get_metrics() == {}

    def test_a_training_batch_without_answers_has_a_loss_of_zero(
        self, one_process_group: None
    ) -> None:
        params = tiny_params()
        instances = read_tiny(params)
        reader = DatasetReader.from_params(Params(params["validation_dataset_reader"]))
        own_text = reader.text_to_instance("Who?", "It was Ada.")
        reader.apply_token_indexers(own_text)
        model = build_model(params, [*instances, own_text]).train()
        # As torch runs it in several processes, where every parameter must have a gradient.
        wrapped = torch.nn.parallel.DistributedDataParallel(model)
        loss = wrapped(**as_tensors([own_text], model.vocab))["loss"]
        assert loss.item() == 0
        loss.backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None and not parameter.grad.any(), name
        # One question with an answer is enough.
        wrapped(**as_tensors(instances, model.vocab))["loss"].backward()
        assert model.get_metrics(reset=True)
        assert model.get_metrics(reset=True) == {}

    def test_training_data_without_any_answer_is_told_after_an_epoch(self, tmp_path: Path) -> None:
        squad = json.loads(TINY_SQUAD.read_text())
        for article in squad["data"]:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    question["answers"] = []
        (tmp_path / "squad.json").write_text(json.dumps(squad))
        params = tiny_params(f"train_data:: '{tmp_path}/squad.json'")
        with pytest.raises(DataError, match="no question with an answer"):
            train_model(Params(params), str(tmp_path / "run"))

    def test_learns_which_questions_have_no_answer(self, v2_archive: Path) -> None:
        archive = load_archive(v2_archive)
        metrics = json.loads((v2_archive.parent / "metrics.json").read_text())
        for name in ("em", "f1", "has_answer_em", "has_answer_f1", "no_answer_em"):
            assert f"best_validation_{name}" in metrics
        instances = list(archive.validation_dataset_reader.read(SAMPLE_V2))
        is_impossible = [not instance["metadata"]["answers"] for instance in instances]
        answers = archive.model.eval().forward_on_instances(instances)
        texts = [answer["best_span_str"] for answer in answers]
        right = sum(text == "" for text, none in zip(texts, is_impossible, strict=True) if none)
        assert metrics["best_validation_no_answer_em"] == pytest.approx(
            100 * right / sum(is_impossible)
        )
        (logits,) = (p for n, p in archive.model.named_parameters() if "no_answer" in n)
        assert logits.all()  # they start as zero

    def test_a_model_without_the_score_ignores_such_questions(self) -> None:
        params = tiny_params()
        reader = DatasetReader.from_params(Params(params["validation_dataset_reader"]))
        instances = list(reader.read(SAMPLE_V2))
        possible = [instance for instance in instances if instance["metadata"]["answers"]]
        model = build_model(params, instances)
        results = []
        for some in (instances, possible):
            loss = model(**as_tensors(some, model.vocab))["loss"].item()
            results.append((loss, model.get_metrics(reset=True)))
        assert results[0] == (pytest.approx(results[1][0]), pytest.approx(results[1][1]))

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_half_precision_gives_finite_numbers(self, dtype: torch.dtype) -> None:
        params = tiny_params()
        instances = read_tiny(params)
        model = build_model(params, instances).train().to(dtype)
        tensors = as_tensors(instances, model.vocab)
        with without_onednn():
            loss = model(**tensors)["loss"]
            loss.backward()
        assert torch.isfinite(loss)
        for name, parameter in model.named_parameters():
            assert torch.isfinite(parameter.grad).all(), name

    @pytest.mark.parametrize(
        "change, words",
        [
            ({"contextual_layer": {"input_size": 11}}, ["text_field_embedder", "10", "11"]),
            (
                {"contextual_layer": {"hidden_size": 7}},
                ["contextual_layer", "attention", "14", "10"],
            ),
            ({"modeling_layer": {"input_size": 39}}, ["attention", "modeling_layer", "40", "39"]),
            ({"output_layer": {"query_aware_dim": 37}}, ["end_encoder", "70", "67"]),
            ({"modeling_layer": {"hidden_size": 6}}, ["modeling_layer", "modeled_dim", "12", "10"]),
        ],
    )
    def test_sizes_that_do_not_fit_are_refused_with_names_and_numbers(
        self, change: Dict[str, Dict[str, int]], words: list
    ) -> None:
        params: Dict[str, Any] = tiny_params()
        for layer, sizes in change.items():
            params["model"][layer].update(sizes)
        with pytest.raises(ConfigurationError) as error:
            build_model(params, read_tiny(params))
        for word in words:
            assert word in str(error.value)

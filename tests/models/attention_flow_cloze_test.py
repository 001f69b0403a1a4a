from pathlib import Path
from random import Random
from typing import Any, Dict

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.models import load_archive

from bidaf_plugin.common.errors import DataError
from tests.cloze_helpers import UNANSWERABLE_CLOZE, read_cloze, tiny_cloze_params
from tests.helpers import as_tensors, build_model, without_onednn

WINDOWS = ["window:: 19", "window:: 5", "window:: null"]


def assert_same_prediction(prediction: Dict[str, Any], other: Dict[str, Any]) -> None:
    assert prediction["id"] == other["id"]
    assert prediction["best_entity"] == other["best_entity"]
    probabilities, others = (
        {candidate["entity"]: candidate["probability"] for candidate in item["candidates"]}
        for item in (prediction, other)
    )
    assert probabilities == pytest.approx(others, abs=1e-6)


class TestAttentionFlowCloze:
    def test_trains_saves_and_loads(self, tmp_path: Path) -> None:
        params = tiny_cloze_params()
        model = train_model(Params(tiny_cloze_params()), str(tmp_path / "run")).eval()
        loaded = load_archive(tmp_path / "run" / "model.tar.gz").model.eval()
        for (name, parameter), (_, other) in zip(
            model.state_dict().items(), loaded.state_dict().items(), strict=True
        ):
            assert torch.equal(parameter, other), name
        tensors = as_tensors(read_cloze(params), model.vocab)
        for key in ("word_probs", "entity_log_probs", "loss"):
            assert torch.equal(model(**tensors)[key], loaded(**tensors)[key])

    @pytest.mark.parametrize("choices", WINDOWS)
    def test_gradients_reach_every_parameter(self, choices: str) -> None:
        params = tiny_cloze_params(choices)
        instances = read_cloze(params)
        model = build_model(params, instances)
        model(**as_tensors(instances, model.vocab))["loss"].backward()
        without = {
            name
            for name, parameter in model.named_parameters()
            if parameter.grad is None or not parameter.grad.any()
        }
        # Adding a constant to all similarities or to all scores changes no softmax.
        assert without <= {"_attention._similarity._bias", "_output_layer._scorer.bias"}

    @pytest.mark.parametrize("choices", WINDOWS)
    def test_batch_size_order_and_padding_change_no_answer(self, choices: str) -> None:
        params = tiny_cloze_params(choices)
        instances = [*read_cloze(params), *read_cloze(params, UNANSWERABLE_CLOZE)]
        model = build_model(params, instances)
        alone = [model.forward_on_instance(instance) for instance in instances]
        for seed in range(5):
            order = list(range(len(instances)))
            Random(seed).shuffle(order)
            together = model.forward_on_instances([instances[i] for i in order])
            for index, prediction in zip(order, together, strict=True):
                assert_same_prediction(prediction, alone[index])

    @pytest.mark.parametrize("choices", WINDOWS)
    def test_probabilities_add_up_and_spans_cut_out_the_entities(self, choices: str) -> None:
        params = tiny_cloze_params(choices)
        instances = read_cloze(params)
        model = build_model(params, instances)
        for instance, prediction in zip(
            instances, model.forward_on_instances(instances), strict=True
        ):
            metadata = instance["metadata"]
            candidates = prediction["candidates"]
            probabilities = [candidate["probability"] for candidate in candidates]
            assert sum(probabilities) == pytest.approx(1, abs=1e-5)
            assert probabilities == sorted(probabilities, reverse=True)
            assert prediction["best_entity"] == candidates[0]["entity"]
            assert prediction["best_entity_name"] == candidates[0]["name"]
            assert prediction["confidence"] == probabilities[0]
            assert {c["entity"] for c in candidates} == set(metadata["candidates"])
            for candidate in candidates:
                mentions = candidate["mentions"]
                assert sum(mention["probability"] for mention in mentions) == pytest.approx(
                    candidate["probability"], abs=1e-5
                )
                words = metadata["passage"].split()
                assert len(mentions) == words.count(candidate["entity"])
                for mention in mentions:
                    assert words[mention["word"]] == candidate["entity"]
                    start, end = mention["characters"]
                    assert metadata["passage"][start:end] == candidate["entity"]

    def test_the_words_of_other_windows_make_no_difference(self) -> None:
        """RNNs and attention stay within a window: only the softmax is over all of them."""
        params = tiny_cloze_params("window:: 3")
        model = build_model(params, read_cloze(params))
        scores = []
        for last_word in ("old", "new"):
            tensors = as_tensors(read_cloze(params)[:1], model.vocab)
            index = model.vocab.get_token_index(last_word)
            tensors["passage"]["tokens"]["tokens"][0, -1, -1] = index
            log_probs = model(**tensors)["word_probs"][0].log()
            scores.append(log_probs[:-1] - log_probs[0, 0])
        finite = scores[0].isfinite()
        torch.testing.assert_close(scores[0][finite], scores[1][finite])

    @pytest.mark.parametrize("choices", WINDOWS)
    def test_unanswerable_questions_count_as_wrong(self, choices: str) -> None:
        params = tiny_cloze_params(choices)
        answerable, unanswerable = read_cloze(params), read_cloze(params, UNANSWERABLE_CLOZE)
        model = build_model(params, [*answerable, *unanswerable])
        loss = model(**as_tensors(answerable, model.vocab))["loss"]
        alone = model.get_metrics(reset=True)["accuracy"]

        mixed = model(**as_tensors([*unanswerable, *answerable], model.vocab))["loss"]
        torch.testing.assert_close(mixed, loss)
        num_all = len(answerable) + len(unanswerable)
        assert model.get_metrics(reset=True)["accuracy"] == pytest.approx(
            alone * len(answerable) / num_all
        )
        for instance in unanswerable:
            outputs = model(**as_tensors([instance], model.vocab))
            assert "loss" not in outputs
            assert model.get_metrics(reset=True)["accuracy"] == 0

    def test_an_article_without_entities_has_no_prediction(self) -> None:
        params = tiny_cloze_params()
        unanswerable = read_cloze(params, UNANSWERABLE_CLOZE)
        model = build_model(params, unanswerable)
        prediction = model.forward_on_instance(unanswerable[1])
        assert prediction["id"] == "no-entities"
        assert prediction["best_entity"] is None and prediction["candidates"] == []
        assert prediction["confidence"] == 0

    def test_training_on_unanswerable_questions_is_an_error(self, tmp_path: Path) -> None:
        params = tiny_cloze_params()
        unanswerable = read_cloze(params, UNANSWERABLE_CLOZE)
        model = build_model(params, unanswerable).train()
        with pytest.raises(DataError, match="no question with its answer in the article"):
            model(**as_tensors(unanswerable, model.vocab))

        params = tiny_cloze_params("skip_bad:: false")
        params["train_data_path"] = str(UNANSWERABLE_CLOZE)
        with pytest.raises(DataError, match="answer-not-there.question: the answer '@entity3'"):
            train_model(Params(params), str(tmp_path / "run"))

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_half_precision_gives_finite_numbers(self, dtype: torch.dtype) -> None:
        params = tiny_cloze_params()
        instances = read_cloze(params)
        model = build_model(params, instances).train().to(dtype)
        tensors = as_tensors(instances, model.vocab)
        with without_onednn():
            loss = model(**tensors)["loss"]
            loss.backward()
        assert torch.isfinite(loss)
        for name, parameter in model.named_parameters():
            assert torch.isfinite(parameter.grad).all(), name

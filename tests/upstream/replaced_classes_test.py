import logging
from pathlib import Path
from typing import List

import pytest
import torch
from allennlp.common import Params, Registrable
from allennlp.interpret import Attacker
from allennlp.predictors import Predictor
from allennlp.training.learning_rate_schedulers import LearningRateScheduler
from allennlp.training.learning_rate_schedulers.pytorch_lr_schedulers import (
    ReduceOnPlateauLearningRateScheduler,
)
from allennlp.training.moving_average import ExponentialMovingAverage, MovingAverage

from bidaf_plugin.predictors import SpanPredictor
from bidaf_plugin.upstream.replaced_classes import (
    ResumableExponentialMovingAverage,
    register_instead,
)

RECORD = {
    "question": "Who planted the orchard of Ölva?",
    "passage": "The orchard of Ölva was planted in 1854 by the gardener Marta Venn.",
}
QUESTION_WORDS = ["Who", "planted", "the", "orchard", "of", "Ölva", "?"]


class Animal(Registrable):
    pass


@Animal.register("cat")
class Cat(Animal):
    pass


def test_takes_the_place_of_another_without_a_line_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG):

        @register_instead(Animal, "cat")
        class Tiger(Animal):
            pass

        assert not caplog.records
        # AllenNLP's own way.
        Animal.register("cat", exist_ok=True)(Cat)
        assert len(caplog.records) == 1
        register_instead(Animal, "cat")(Tiger)
    assert Animal.by_name("cat") is Tiger


def follows_the_model_after_resuming(average_class: type) -> bool:
    """Does a moving average that was restored from a state still average the live parameters?"""
    torch.manual_seed(0)
    old = torch.nn.Linear(2, 2)
    average = average_class(old.named_parameters(), decay=0.5)
    average.apply()
    state = average.state_dict()

    model = torch.nn.Linear(2, 2)
    resumed = average_class(model.named_parameters(), decay=0.5)
    resumed.load_state_dict(state)
    model.weight.data.fill_(4.0)
    resumed.apply()
    resumed.assign_average_value()
    return torch.allclose(model.weight, 0.5 * old.weight + 0.5 * 4.0)


class TestResumableExponentialMovingAverage:
    def test_follows_the_live_parameters_after_resuming(self) -> None:
        assert follows_the_model_after_resuming(ResumableExponentialMovingAverage)
        # AllenNLP's own does not; once it does, ours can go.
        assert not follows_the_model_after_resuming(ExponentialMovingAverage)

    def test_resuming_changes_no_raw_weight(self) -> None:
        model = torch.nn.Linear(2, 2)
        average = ResumableExponentialMovingAverage(model.named_parameters(), decay=0.5)
        state = {
            key: {name: tensor.clone() for name, tensor in tensors.items()}
            for key, tensors in average.state_dict().items()
        }
        weight = model.weight.detach().clone()
        average.assign_average_value()
        average.restore()
        average.load_state_dict(state)
        assert torch.equal(model.weight, weight)

    def test_is_what_a_config_gets(self) -> None:
        parameters = torch.nn.Linear(1, 1).named_parameters()
        for params in ({}, {"type": "exponential", "decay": 0.9}):
            average = MovingAverage.from_params(Params(params), parameters=parameters)
            assert isinstance(average, ResumableExponentialMovingAverage)


def make_optimizer() -> torch.optim.Optimizer:
    return torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), lr=1.0)


class TestReduceOnPlateau:
    def test_works_with_the_current_torch(self) -> None:
        scheduler = LearningRateScheduler.from_params(
            Params({"type": "reduce_on_plateau", "factor": 0.5, "patience": 0}),
            optimizer=make_optimizer(),
        )
        for metric in (1.0, 2.0):
            scheduler.step(metric)
        assert scheduler.lr_scheduler.optimizer.param_groups[0]["lr"] == 0.5

    def test_is_still_needed(self) -> None:
        with pytest.raises(TypeError, match="verbose"):
            ReduceOnPlateauLearningRateScheduler(make_optimizer())


@pytest.fixture
def predictor(tiny_archive: Path) -> SpanPredictor:
    found = Predictor.from_path(tiny_archive)
    assert isinstance(found, SpanPredictor)
    return found


def span_with_words(predictor: SpanPredictor, words: List[str]) -> List[int]:
    """What is predicted if the question has these words."""
    (instance,) = predictor.json_to_labeled_instances(RECORD)
    instance["question"].tokens = [
        token for token in instance["question"].tokens if token.text in words
    ]
    predictor._dataset_reader.apply_token_indexers(instance)
    return predictor._model.forward_on_instance(instance)["best_span"]


class TestAttackers:
    def test_input_reduction_leaves_the_prediction(self, predictor: SpanPredictor) -> None:
        attacker = Attacker.by_name("input-reduction")(predictor)
        result = attacker.attack_from_json(RECORD, "question", "grad_input_2")
        assert result["original"] == QUESTION_WORDS
        (final,) = result["final"]
        assert 1 <= len(final) < len(QUESTION_WORDS)
        remaining = iter(QUESTION_WORDS)
        assert all(word in remaining for word in final)
        assert span_with_words(predictor, final) == predictor.predict_json(RECORD)["best_span"]

    @pytest.mark.parametrize(
        "field_name, gradients", [("question", "grad_input_2"), ("passage", "grad_input_1")]
    )
    def test_hotflip_exchanges_words_until_the_prediction_changes(
        self, predictor: SpanPredictor, field_name: str, gradients: str
    ) -> None:
        attacker = Attacker.by_name("hotflip")(predictor)
        result = attacker.attack_from_json(RECORD, field_name, gradients)
        (final,) = result["final"]
        assert len(final) == len(result["original"])
        flipped = [new for new, old in zip(final, result["original"], strict=True) if new != old]
        assert flipped
        vocabulary = predictor._model.vocab.get_token_to_index_vocabulary("tokens")
        assert all(word in vocabulary for word in flipped)
        (outputs,) = result["outputs"]
        unflipped = [word for word in result["original"] if word not in ".?"]
        span = predictor.predict_json(RECORD)["best_span"]
        # Or there is nothing left to exchange.
        assert outputs["best_span"] != span or len(flipped) == len(unflipped)

import pytest
import torch
from allennlp.common import Params
from allennlp.training.learning_rate_schedulers import LearningRateScheduler
from allennlp.training.learning_rate_schedulers.pytorch_lr_schedulers import (
    ReduceOnPlateauLearningRateScheduler,
)
from allennlp.training.moving_average import ExponentialMovingAverage, MovingAverage

from bidaf_plugin.upstream import ResumableExponentialMovingAverage


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

import torch

from bidaf_plugin.training.metrics import ClozeAccuracy


class TestClozeAccuracy:
    def test_is_over_all_questions_with_an_answer(self) -> None:
        accuracy = ClozeAccuracy()
        # Right, wrong, answer not in the article, answer unknown.
        accuracy(torch.tensor([2, 0, 1, 1]), torch.tensor([2, 1, -2, -1]))
        # No candidate at all, which is wrong even though both are negative.
        accuracy(torch.tensor([-1, 3]), torch.tensor([-2, 3]))
        assert accuracy.get_metric() == {"accuracy": 100 * 2 / 5}
        assert accuracy.get_metric(reset=True) == {"accuracy": 100 * 2 / 5}
        assert accuracy.get_metric() == {}

    def test_nothing_to_score(self) -> None:
        accuracy = ClozeAccuracy()
        accuracy(torch.tensor([-1, 0]), torch.tensor([-1, -1]))
        assert accuracy.get_metric() == {}

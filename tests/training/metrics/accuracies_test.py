import torch

from bidaf_plugin.training.metrics import ClozeAccuracy, SpanAccuracy


class TestSpanAccuracy:
    def test_counts_starts_ends_and_spans_of_any_gold_answer(self) -> None:
        metric = SpanAccuracy()
        best_spans = torch.tensor([[1, 2], [4, 5], [3, 9], [0, 0]])
        answer_spans = torch.tensor(
            [
                [[1, 2], [-1, -1]],
                [[0, 1], [4, 5]],
                # Right start of one answer and right end of another: not a right span.
                [[3, 3], [8, 9]],
                [[1, 1], [-1, -1]],
            ]
        )
        metric(best_spans, answer_spans)
        assert metric.get_metric() == {
            "start_accuracy": 100 * 3 / 4,
            "end_accuracy": 100 * 3 / 4,
            "span_accuracy": 100 * 2 / 4,
        }


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

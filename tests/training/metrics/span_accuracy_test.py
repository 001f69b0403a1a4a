import torch

from bidaf_plugin.training.metrics import SpanAccuracy


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

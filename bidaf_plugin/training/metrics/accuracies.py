import torch
from allennlp.training.metrics import Metric
from overrides import overrides

from bidaf_plugin.nn.entities import UNKNOWN_ANSWER
from bidaf_plugin.training.metrics.mean_over_workers import MeanOverWorkers


@Metric.register("span_accuracy")
class SpanAccuracy(MeanOverWorkers):
    """
    How often the first token, the last token, and both, of the predicted span are those of a gold
    span, in percent.

    Registered as a `Metric` with name "span_accuracy".
    """

    def __init__(self) -> None:
        super().__init__(["start_accuracy", "end_accuracy", "span_accuracy"])

    @overrides(check_signature=False)
    def __call__(  # type: ignore[override]
        self, best_spans: torch.Tensor, answer_spans: torch.Tensor
    ) -> None:
        """
        # Parameters

        best_spans : `torch.LongTensor`
            Shape `(batch_size, 2)`.
        answer_spans : `torch.LongTensor`
            Shape `(batch_size, num_answers, 2)`, padded with -1.
        """
        # Shape: (batch_size, num_answers, 2)
        is_right = best_spans.unsqueeze(1) == answer_spans
        # Shape: (batch_size,) for both
        start_is_right, end_is_right = is_right.any(dim=1).unbind(dim=-1)
        # Shape: (batch_size,)
        both_are_right = is_right.all(dim=-1).any(dim=1)
        self.add(
            [start_is_right.sum().item(), end_is_right.sum().item(), both_are_right.sum().item()],
            best_spans.size(0),
        )


@Metric.register("cloze_accuracy")
class ClozeAccuracy(MeanOverWorkers):
    """
    How many cloze questions are answered with the right entity, in percent of all questions that
    have an answer: one whose answer is not in the article counts as answered wrongly.

    Registered as a `Metric` with name "cloze_accuracy".
    """

    def __init__(self) -> None:
        super().__init__(["accuracy"])

    @overrides(check_signature=False)
    def __call__(  # type: ignore[override]
        self, best_entities: torch.Tensor, answer_entities: torch.Tensor
    ) -> None:
        """
        # Parameters

        best_entities : `torch.LongTensor`
            Shape `(batch_size,)`: the predicted candidate, or -1 if there was none to choose from.
        answer_entities : `torch.LongTensor`
            Shape `(batch_size,)`: the right candidate, `NOT_IN_ARTICLE` if it is no candidate, or
            `UNKNOWN_ANSWER`, in which case the question is not counted.
        """
        # Shape: (batch_size,)
        is_right = (best_entities == answer_entities) & (answer_entities >= 0)
        self.add([is_right.sum().item()], int((answer_entities != UNKNOWN_ANSWER).sum()))

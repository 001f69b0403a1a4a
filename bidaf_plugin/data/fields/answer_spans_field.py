from typing import Dict, List, Sequence, Tuple

import numpy
import torch
from allennlp.data.fields import Field
from overrides import overrides

TokenSpan = Tuple[int, int]
# What takes the place of a span where none is known, and in padding.
NO_SPAN: TokenSpan = (-1, -1)
# What takes the place of a span where it is known that the passage does not answer the question.
IMPOSSIBLE: TokenSpan = (-2, -2)


class AnswerSpansField(Field[torch.Tensor]):
    """
    The gold answers of a question: the first and the last (inclusive) token of each. As a tensor of
    shape `(num_answers, 2)`, padded with -1. It is what an `ArrayField` of them would be, in a
    fraction of the memory. A question that is known to have no answer has the span `IMPOSSIBLE`.

    # Parameters

    spans : `Sequence[Tuple[int, int]]`
        None at all becomes one span of -1 and -1.
    """

    __slots__ = ["spans"]

    def __init__(self, spans: Sequence[TokenSpan]) -> None:
        self.spans = tuple(spans) or (NO_SPAN,)

    @property
    def array(self) -> numpy.ndarray:
        """Shape: (num_answers, 2)"""
        return numpy.array(self.spans, dtype=numpy.int64)

    @overrides
    def get_padding_lengths(self) -> Dict[str, int]:
        return {"num_answers": len(self.spans)}

    @overrides
    def as_tensor(self, padding_lengths: Dict[str, int]) -> torch.Tensor:
        num_missing = padding_lengths["num_answers"] - len(self.spans)
        return torch.tensor([*self.spans, *([NO_SPAN] * num_missing)])

    @overrides
    def empty_field(self) -> "AnswerSpansField":
        return AnswerSpansField([])

    @overrides
    def human_readable_repr(self) -> List[List[int]]:
        return [list(span) for span in self.spans]

    def __str__(self) -> str:
        return f"AnswerSpansField with {list(self.spans)}"

    def __len__(self) -> int:
        return len(self.spans)

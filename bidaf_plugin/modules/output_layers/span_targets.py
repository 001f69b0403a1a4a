"""
Gold answers as the span output layer uses them. `answer_spans` has the shape
`(batch_size, num_answers, 2)`: the first and the last (inclusive) token of each answer, padded with
-1; -2 for a question that cannot be answered.
"""

import torch

from bidaf_plugin.data.fields.answer_spans_field import IMPOSSIBLE, NO_SPAN

# What stands for the first and for the last token of no span.
UNKNOWN_TOKEN, IMPOSSIBLE_TOKEN = NO_SPAN[0], IMPOSSIBLE[0]


def is_known(answer_spans: torch.Tensor, no_answer: bool) -> torch.Tensor:
    """
    Which questions count for the loss and for the score: those with answers and, if the model can say
    that there is none, those that cannot be answered.

    # Returns

    `torch.BoolTensor`
        Shape `(batch_size,)`.
    """
    first_tokens = answer_spans[:, 0, 0]
    return first_tokens != UNKNOWN_TOKEN if no_answer else first_tokens >= 0


def choose_targets(answer_spans: torch.Tensor, draw: bool) -> torch.Tensor:
    """
    One gold answer of each question: the first, or any one.

    # Returns

    `torch.LongTensor`
        Shape `(batch_size, 2)`.
    """
    if not draw:
        return answer_spans[:, 0]
    # Shape: (batch_size, num_answers)
    can_be_drawn = answer_spans[:, :, 0] != UNKNOWN_TOKEN
    # A question without answers draws one of its paddings, which the loss ignores.
    can_be_drawn = can_be_drawn | ~can_be_drawn.any(dim=1, keepdim=True)
    # Shape: (batch_size, 1, 2)
    chosen = can_be_drawn.float().multinomial(1).unsqueeze(-1).expand(-1, -1, 2)
    return answer_spans.gather(1, chosen).squeeze(1)

"""
Gold answers as the span output layer uses them. `answer_spans` has the shape
`(batch_size, num_answers, 2)`: the first and the last (inclusive) token of each answer, padded with
-1; -2 for a question that cannot be answered.
"""

from typing import Optional

import torch

from bidaf_plugin.data.fields.answer_spans_field import IMPOSSIBLE, NO_SPAN

# In place of the first and of the last token, where there is no span.
UNKNOWN_TOKEN, IMPOSSIBLE_TOKEN = NO_SPAN[0], IMPOSSIBLE[0]


def is_known(answer_spans: torch.Tensor, no_answer: bool) -> torch.Tensor:
    """
    Which questions count for the loss and for the score: those with answers and, if the model can say
    that there is none, those that cannot be answered. Shape: (batch_size,)
    """
    first_tokens = answer_spans[:, 0, 0]
    return first_tokens != UNKNOWN_TOKEN if no_answer else first_tokens >= 0


def choose_targets(answer_spans: torch.Tensor, draw: bool) -> torch.Tensor:
    """One gold answer of each question: the first, or any one. Shape: (batch_size, 2)"""
    if not draw:
        return answer_spans[:, 0]
    # Shape: (batch_size, num_answers)
    can_be_drawn = answer_spans[:, :, 0] != UNKNOWN_TOKEN
    # A question without answers draws one of its paddings, which the loss ignores.
    can_be_drawn = can_be_drawn | ~can_be_drawn.any(dim=1, keepdim=True)
    # Shape: (batch_size, 1, 2)
    chosen = can_be_drawn.float().multinomial(1).unsqueeze(-1).expand(-1, -1, 2)
    return answer_spans.gather(1, chosen).squeeze(1)


def negative_log_likelihood(
    log_probs: torch.Tensor,
    targets: torch.Tensor,
    no_answer_log_probs: Optional[torch.Tensor],
    no_answer_weight: float = 1.0,
) -> torch.Tensor:
    """
    `-log p[y]`, averaged over the questions that count; 0, with gradients, if none does.

    # Parameters

    log_probs : `torch.Tensor`
        `log p`, shape `(batch_size, passage_length)`.
    targets : `torch.LongTensor`
        Shape `(batch_size,)`: tokens, or -1 if they are not known, or -2 if there is no answer. The
        second kind does not count, nor does the third where it is not among the outcomes.
    no_answer_log_probs : `torch.Tensor`, optional
        Shape `(batch_size,)`.
    no_answer_weight : `float`, optional (default = `1.0`)
        How much a question without an answer counts in the average.
    """
    weights: Optional[torch.Tensor] = None
    if no_answer_log_probs is None:
        targets = targets.clamp(min=UNKNOWN_TOKEN)
    else:
        targets = targets.masked_fill(targets == IMPOSSIBLE_TOKEN, log_probs.size(1))
        # Shape: (batch_size, passage_length + 1)
        log_probs = torch.cat([log_probs, no_answer_log_probs.unsqueeze(1)], dim=1)
        # Shape: (passage_length + 1,)
        weights = log_probs.new_ones(log_probs.size(1))
        weights[-1] = no_answer_weight
    # The mean of nothing would not be a number.
    reduction = "mean" if (targets != UNKNOWN_TOKEN).any() else "sum"
    return torch.nn.functional.nll_loss(
        log_probs, targets, weights, ignore_index=UNKNOWN_TOKEN, reduction=reduction
    )

from typing import Optional

import torch
from allennlp.nn import util

from bidaf_plugin.modules.output_layers.span_targets import IMPOSSIBLE_TOKEN, UNKNOWN_TOKEN


class TokenSoftmax:
    """
    The distribution of the first or of the last token of the answer, `p1` or `p2`. In single
    precision at least: half precision cannot hold small probabilities.

    # Parameters

    logits : `torch.Tensor`
        Shape `(batch_size, passage_length)`.
    mask : `torch.BoolTensor`
        Shape `(batch_size, passage_length)`.
    no_answer_logits : `torch.Tensor`, optional (default = `None`)
        Shape `(batch_size,)`: one more outcome, that there is no answer.

    # Attributes

    logits, log_probs : `torch.Tensor`
        Shape `(batch_size, passage_length)`; the smallest value of the type at padding.
    no_answer_logits, no_answer_log_probs : `torch.Tensor`
        Shape `(batch_size,)`. Not there without the further outcome.
    """

    no_answer_logits: torch.Tensor
    no_answer_log_probs: torch.Tensor

    def __init__(
        self,
        logits: torch.Tensor,
        mask: torch.Tensor,
        no_answer_logits: Optional[torch.Tensor] = None,
    ) -> None:
        logits = _at_least_single(logits)
        lowest = util.min_value_of_dtype(logits.dtype)
        self._mask = mask
        self._has_no_answer = no_answer_logits is not None
        self.logits = logits.masked_fill(~mask, lowest)
        if no_answer_logits is None:
            # Shape: (batch_size, passage_length)
            log_probs = self.logits.log_softmax(dim=-1)
        else:
            self.no_answer_logits = _at_least_single(no_answer_logits)
            # Shape: (batch_size, passage_length + 1)
            outcomes = torch.cat([self.logits, self.no_answer_logits.unsqueeze(1)], dim=1)
            outcomes = outcomes.log_softmax(dim=-1)
            log_probs, self.no_answer_log_probs = outcomes[:, :-1], outcomes[:, -1]
        self.log_probs = log_probs.masked_fill(~mask, lowest)

    def at_temperature(self, temperature: float) -> "TokenSoftmax":
        """The softmax of all logits divided by a number."""
        further = self.no_answer_logits / temperature if self._has_no_answer else None
        return TokenSoftmax(self.logits / temperature, self._mask, further)


def _at_least_single(values: torch.Tensor) -> torch.Tensor:
    return values.float() if values.dtype.itemsize < 4 else values


def negative_log_likelihood(
    log_probs: torch.Tensor, targets: torch.Tensor, no_answer_log_probs: Optional[torch.Tensor]
) -> torch.Tensor:
    """
    `-log p[y]`, averaged over the questions that count; 0, with gradients, if none does.

    # Parameters

    log_probs : `torch.Tensor`
        Those of a `TokenSoftmax`, shape `(batch_size, passage_length)`.
    targets : `torch.LongTensor`
        Shape `(batch_size,)`: tokens, or -1 if they are not known, or -2 if there is no answer. The
        second kind does not count, nor does the third where it is not among the outcomes.
    no_answer_log_probs : `torch.Tensor`, optional
        Shape `(batch_size,)`.
    """
    if no_answer_log_probs is None:
        targets = targets.clamp(min=UNKNOWN_TOKEN)
    else:
        targets = targets.masked_fill(targets == IMPOSSIBLE_TOKEN, log_probs.size(1))
        # Shape: (batch_size, passage_length + 1)
        log_probs = torch.cat([log_probs, no_answer_log_probs.unsqueeze(1)], dim=1)
    # The mean of nothing would not be a number.
    reduction = "mean" if (targets != UNKNOWN_TOKEN).any() else "sum"
    return torch.nn.functional.nll_loss(
        log_probs, targets, ignore_index=UNKNOWN_TOKEN, reduction=reduction
    )

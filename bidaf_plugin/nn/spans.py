"""
Decoding of answer spans: the best one of each passage of a batch.
"""

from typing import Optional, Tuple

import torch


def best_span(
    start_scores: torch.Tensor, end_scores: torch.Tensor, max_length: Optional[int] = None
) -> Tuple[torch.Tensor, torch.Tensor]:
    """
    The span `(k, l)` with `k <= l` that has the largest `start_scores[k] + end_scores[l]`. With
    log-probabilities as scores this is the largest `p1_k * p2_l` of the paper, which it computes "in
    linear time with dynamic programming": for each end `l` the best start is a running maximum. No
    (length x length) matrix is made.

    # Parameters

    start_scores, end_scores : `torch.Tensor`
        Shape `(batch_size, length)`; padding holds the smallest value of the type.
    max_length : `int`, optional (default = `None`)
        Only spans of at most this many tokens.

    # Returns

    spans : `torch.LongTensor`
        Shape `(batch_size, 2)`: first and last (inclusive) token.
    scores : `torch.Tensor`
        Shape `(batch_size,)`.
    """
    if max_length is None or max_length >= start_scores.size(1):
        # Shape: (batch_size, length) for both
        best_starts, start_indices = start_scores.cummax(dim=1)
    else:
        best_starts, start_indices = sliding_max(start_scores, max_length)
    # Shape: (batch_size,) for both
    scores, ends = (best_starts + end_scores).max(dim=1)
    # Shape: (batch_size,)
    starts = start_indices.gather(1, ends.unsqueeze(1)).squeeze(1)
    return torch.stack([starts, ends], dim=-1), scores


def sliding_max(values: torch.Tensor, window: int) -> Tuple[torch.Tensor, torch.Tensor]:
    """
    The largest of the last `window` values at each position, and its index: the last one of several, as in
    `torch.cummax`.

    # Parameters

    values : `torch.Tensor`
        Shape `(batch_size, length)`.

    # Returns

    `Tuple[torch.Tensor, torch.LongTensor]`
        Both of shape `(batch_size, length)`.
    """
    # Pooling looks ahead and takes the first of equal values, so it goes from right to left.
    padded = torch.nn.functional.pad(values.flip(1), (0, window - 1), value=-torch.inf)
    largest, indices = torch.nn.functional.max_pool1d(padded, window, stride=1, return_indices=True)
    return largest.flip(1), values.size(1) - 1 - indices.flip(1)

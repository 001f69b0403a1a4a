"""
Decoding of answer spans: the best span of each passage in linear time, and the best n.
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

    start_scores : `torch.Tensor`
        Shape `(batch_size, length)`; padding holds the smallest value of the type.
    end_scores : `torch.Tensor`
        Shape `(batch_size, length)`, likewise.
    max_length : `int`, optional (default = `None`)
        Only spans of at most this many tokens.

    # Returns

    spans : `torch.LongTensor`
        Shape `(batch_size, 2)`: first and last (inclusive) token.
    scores : `torch.Tensor`
        Shape `(batch_size,)`.
    """
    # Shape: (batch_size, length) for both
    best_starts, best_start_indices = _max_of_last(start_scores, max_length)
    # Shape: (batch_size,) for both
    scores, ends = (best_starts + end_scores).max(dim=1)
    # Shape: (batch_size,)
    starts = best_start_indices.gather(1, ends.unsqueeze(1)).squeeze(1)
    return torch.stack([starts, ends], dim=-1), scores


def top_spans(
    start_scores: torch.Tensor,
    end_scores: torch.Tensor,
    n: int,
    max_length: Optional[int] = None,
) -> Tuple[torch.Tensor, torch.Tensor]:
    """
    The `n` spans `(k, l)` with `k <= l` that have the largest `start_scores[k] + end_scores[l]`.

    They are exact, and no (length x length) matrix is made. If the ends are ordered by the best span
    that each of them ends, the first `n` ends suffice: each has a span that is at least as good as
    all spans that end elsewhere. Among the spans that end there the same is true of the first `n`
    starts, which leaves `n * n` spans. Time and memory grow with `length + n * n`.

    # Parameters

    start_scores : `torch.Tensor`
        Shape `(batch_size, length)`; padding holds the smallest value of the type.
    end_scores : `torch.Tensor`
        Shape `(batch_size, length)`, likewise.
    n : `int`
    max_length : `int`, optional (default = `None`)
        Only spans of at most this many tokens.

    # Returns

    spans : `torch.LongTensor`
        Shape `(batch_size, m, 2)`: first and last (inclusive) token, the best span first. `m` is `n`, or
        fewer where the length does not allow so many.
    scores : `torch.Tensor`
        Shape `(batch_size, m)`; minus infinity where a passage has no further span.
    """
    lowest = torch.finfo(start_scores.dtype).min
    # Shape: (batch_size, num_candidates)
    ends = _order(_max_of_last(start_scores, max_length)[0] + end_scores)[:, :n]
    # Shape: (batch_size, num_candidates)
    scores_of_ends = end_scores.gather(1, ends)
    # Shape: (batch_size, length)
    kept_end_scores = torch.full_like(end_scores, lowest).scatter(1, ends, scores_of_ends)
    best_ends = _max_of_last(kept_end_scores.flip(1), max_length)[0].flip(1)
    # Shape: (batch_size, num_candidates)
    starts = _order(start_scores + best_ends)[:, :n]
    scores_of_starts = start_scores.gather(1, starts)

    # Shape: (batch_size, num_starts, num_ends)
    starts, ends = torch.broadcast_tensors(starts.unsqueeze(2), ends.unsqueeze(1))
    is_span = starts <= ends
    if max_length is not None:
        is_span = is_span & (ends - starts < max_length)
    is_span = is_span & (scores_of_starts > lowest).unsqueeze(2)
    is_span = is_span & (scores_of_ends > lowest).unsqueeze(1)
    # Shape: (batch_size, num_starts, num_ends)
    scores = scores_of_starts.unsqueeze(2) + scores_of_ends.unsqueeze(1)
    # Shape: (batch_size, num_starts * num_ends)
    scores = scores.masked_fill(~is_span, -torch.inf).flatten(1)
    # Shape: (batch_size, m)
    best = _order(scores)[:, :n]
    spans = torch.stack([starts.flatten(1).gather(1, best), ends.flatten(1).gather(1, best)], dim=2)
    return spans, scores.gather(1, best)


def _order(scores: torch.Tensor) -> torch.Tensor:
    """The places of the scores, the largest first and equal ones from left to right."""
    return scores.sort(dim=1, descending=True, stable=True).indices


def _max_of_last(
    values: torch.Tensor, window: Optional[int]
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The largest of the last `window` values (None: of all so far) at each position, and its place."""
    if window is None or window >= values.size(1):
        return values.cummax(dim=1)
    return sliding_max(values, window)


def sliding_max(values: torch.Tensor, window: int) -> Tuple[torch.Tensor, torch.Tensor]:
    """
    The largest of the last `window` values at each position, and where it is, in time linear in the
    length whatever the window: the values are cut into blocks of `window`, and each window is the
    end of one block and the beginning of the next (van Herk, 1992).

    # Parameters

    values : `torch.Tensor`
        Shape `(batch_size, length)`.

    # Returns

    `Tuple[torch.Tensor, torch.LongTensor]`
        Both of shape `(batch_size, length)`.
    """
    batch_size, length = values.size()
    num_blocks = -(-length // window)
    lowest = torch.finfo(values.dtype).min
    # Shape: (batch_size, num_blocks, window)
    blocks = torch.nn.functional.pad(values, (0, num_blocks * window - length), value=lowest).view(
        batch_size, num_blocks, window
    )
    # Shape: (num_blocks, 1)
    block_starts = torch.arange(num_blocks, device=values.device).unsqueeze(1) * window

    # The largest from the beginning of a block up to each position.
    # Shape: (batch_size, num_blocks, window)
    up_to, up_to_indices = blocks.cummax(dim=-1)
    up_to, up_to_indices = up_to.flatten(1), (up_to_indices + block_starts).flatten(1)
    # The largest from each position to the end of its block.
    # Shape: (batch_size, num_blocks, window)
    reversed_max, reversed_indices = blocks.flip(-1).cummax(dim=-1)
    from_here = reversed_max.flip(-1).flatten(1)
    from_here_indices = (window - 1 - reversed_indices.flip(-1) + block_starts).flatten(1)

    # The window that ends at `position` begins at `position - window + 1`; the first ones are short.
    # Shape: (length,)
    window_starts = (torch.arange(length, device=values.device) - window + 1).clamp(min=0)
    # Shape: (batch_size, length)
    tails, heads = from_here[:, window_starts], up_to[:, :length]
    # A short window lies in the first block, whose beginning alone covers it.
    is_short = torch.arange(length, device=values.device) < window
    take_head = (heads >= tails) | is_short
    # Shape: (batch_size, length)
    largest = torch.where(take_head, heads, tails)
    indices = torch.where(take_head, up_to_indices[:, :length], from_here_indices[:, window_starts])
    return largest, indices

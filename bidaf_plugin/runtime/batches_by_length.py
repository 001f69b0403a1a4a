"""
Batches of texts of similar length, so that little is padded. All that makes such batches does it with this
file, also exported models: it needs no AllenNLP.
"""

from dataclasses import dataclass, field
from typing import Dict, Hashable, List, Optional, Sequence

# Texts that always come in the same batch, by their indices.
Group = List[int]


@dataclass
class Bucket:
    """Batches of texts of similar length, which may exchange groups of the same size."""

    longest: int
    # Texts per batch.
    limit: int
    batches: List[List[Group]] = field(default_factory=list)


def batches_by_length(
    lengths: Sequence[int],
    batch_size: Optional[int] = None,
    max_tokens: Optional[int] = None,
    second_lengths: Optional[Sequence[int]] = None,
    keys: Optional[Sequence[Hashable]] = None,
) -> List[List[int]]:
    """The indices of the texts of each batch, the longest texts first. See `make_buckets`."""
    buckets = make_buckets(lengths, batch_size, max_tokens, second_lengths, keys)
    return [flatten(batch) for bucket in buckets for batch in bucket.batches]


def flatten(batch: List[Group]) -> List[int]:
    return [index for group in batch for index in group]


def make_buckets(
    lengths: Sequence[int],
    batch_size: Optional[int] = None,
    max_tokens: Optional[int] = None,
    second_lengths: Optional[Sequence[int]] = None,
    keys: Optional[Sequence[Hashable]] = None,
    padding_noise: float = 0.0,
    min_batches: int = 1,
) -> List[Bucket]:
    """
    # Parameters

    lengths : `Sequence[int]`
    batch_size : `int`, optional (default = `None`)
        Texts per batch, at most.
    max_tokens : `int`, optional (default = `None`)
        Tokens per batch with padding, at most: texts times the longest. A text that is longer has a batch
        of its own.
    second_lengths : `Sequence[int]`, optional (default = `None`)
        Texts of the same length are sorted by these.
    keys : `Sequence[Hashable]`, optional (default = `None`)
        Texts with the same key stay in one batch, if they fit.
    padding_noise : `float`, optional (default = `0.0`)
        How much shorter than the longest the texts of a bucket may be, as a share of it.
    min_batches : `int`, optional (default = `1`)
        Batches per bucket, at least. Where texts of similar length are few, some that differ more make up
        this number.

    # Returns

    `List[Bucket]`
        The longest texts first. Nothing here is left to chance.
    """
    buckets: List[Bucket] = []
    num_in_batch = 0
    for group in _sorted_groups(lengths, second_lengths or lengths, keys or range(len(lengths))):
        length = lengths[group[0]]
        while group:
            bucket = buckets[-1] if buckets else None
            if bucket is None or num_in_batch + min(len(group), bucket.limit) > bucket.limit:
                if bucket is None or (
                    len(bucket.batches) >= min_batches
                    and length < (1 - padding_noise) * bucket.longest
                ):
                    limit = batch_size or len(lengths)
                    if max_tokens is not None:
                        limit = max(1, min(limit, max_tokens // max(1, length)))
                    bucket = Bucket(length, limit)
                    buckets.append(bucket)
                bucket.batches.append([])
                num_in_batch = 0
            together, group = group[: bucket.limit], group[bucket.limit :]
            bucket.batches[-1].append(together)
            num_in_batch += len(together)
    return buckets


def _sorted_groups(
    lengths: Sequence[int], second_lengths: Sequence[int], keys: Sequence[Hashable]
) -> List[Group]:
    groups: Dict[Hashable, Group] = {}
    for index, key in enumerate(keys):
        groups.setdefault(key, []).append(index)
    return sorted(
        groups.values(),
        key=lambda group: (-lengths[group[0]], -max(second_lengths[index] for index in group)),
    )

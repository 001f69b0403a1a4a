import random
from dataclasses import dataclass, field
from typing import Dict, Hashable, Iterable, Iterator, List, Optional, Sequence, cast

from allennlp.common.checks import ConfigurationError
from allennlp.data import BatchSampler, Instance
from allennlp.data.fields import MetadataField, TextField
from overrides import overrides

# Instances that always come in the same batch, by their places in the data.
Unit = List[int]
# Where passages of similar length are few, some that differ more make up this number.
_MIN_BATCHES_PER_BUCKET = 2


@dataclass
class _Bucket:
    """Batches of passages of similar length, which may exchange units of the same size."""

    longest_passage: int
    # Instances per batch.
    limit: int
    batches: List[List[Unit]] = field(default_factory=list)


@BatchSampler.register("bidaf_bucket")
class BidafBucketSampler(BatchSampler):
    """
    Batches of instances whose passages, and then questions, are of similar length, so that little is
    padded. Passages are the fields `passage` of the instances, questions the fields `question`.

    The data is sorted by the length of passages and divided into buckets. With `shuffle`, each epoch
    draws anew which instances of a bucket come together, and the order of the batches. The number of
    batches is always the same.

    In distributed training each worker has its own share of the data and makes batches of it.

    Registered as a `BatchSampler` with name "bidaf_bucket".

    # Parameters

    batch_size : `int`
        Instances per batch, at most.
    max_tokens : `int`, optional (default = `None`)
        Passage tokens per batch with padding, at most: instances times the longest passage. A passage
        that is longer has a batch of its own.
    group_passages : `bool`, optional (default = `False`)
        Keep the questions on a paragraph in one batch, so that its passage need not be read for each.
        They are recognised by the text of the passage in their metadata, or without metadata by their
        passage field being one object. If they do not fit into a batch they are divided.
    padding_noise : `float`, optional (default = `0.1`)
        How much shorter than the longest the passages of a bucket may be, as a share of it. More
        means more padding and more chance.
    shuffle : `bool`, optional (default = `True`)
        Without it the batches come in the order of their length, the longest first, for validation and
        prediction.
    """

    def __init__(
        self,
        batch_size: int,
        max_tokens: Optional[int] = None,
        group_passages: bool = False,
        padding_noise: float = 0.1,
        shuffle: bool = True,
    ) -> None:
        if batch_size < 1 or (max_tokens is not None and max_tokens < 1):
            raise ConfigurationError(
                f"batch_size ({batch_size}) and max_tokens ({max_tokens}) must be at least 1"
            )
        self._batch_size = batch_size
        self._max_tokens = max_tokens
        self._group_passages = group_passages
        self._shuffle = shuffle
        # Without chance there is nothing to exchange: every batch is a bucket.
        self._padding_noise = padding_noise if shuffle else 0.0
        self._min_batches_per_bucket = _MIN_BATCHES_PER_BUCKET if shuffle else 1

    @overrides
    def get_batch_indices(self, instances: Sequence[Instance]) -> Iterable[List[int]]:
        batches: Iterator[List[Unit]] = (
            batch
            for bucket in self._make_buckets(instances)
            for batch in (
                self._draw_batches(bucket, instances) if self._shuffle else bucket.batches
            )
        )
        batch_indices = [[index for unit in batch for index in unit] for batch in batches]
        if self._shuffle:
            random.shuffle(batch_indices)
        return batch_indices

    @overrides
    def get_num_batches(self, instances: Sequence[Instance]) -> int:
        return sum(len(bucket.batches) for bucket in self._make_buckets(instances))

    @overrides
    def get_batch_size(self) -> Optional[int]:
        return self._batch_size

    def _make_buckets(self, instances: Sequence[Instance]) -> List[_Bucket]:
        """The buckets, the longest passages first. Nothing here is left to chance."""
        buckets: List[_Bucket] = []
        num_in_batch = 0
        for group in self._sorted_groups(instances):
            length = len(instances[group[0]].fields["passage"])
            while group:
                bucket = buckets[-1] if buckets else None
                if bucket is None or num_in_batch + min(len(group), bucket.limit) > bucket.limit:
                    if bucket is None or self._may_end(bucket, length):
                        bucket = _Bucket(length, self._limit(length))
                        buckets.append(bucket)
                    bucket.batches.append([])
                    num_in_batch = 0
                unit, group = group[: bucket.limit], group[bucket.limit :]
                bucket.batches[-1].append(unit)
                num_in_batch += len(unit)
        return buckets

    def _sorted_groups(self, instances: Sequence[Instance]) -> List[Unit]:
        groups: Dict[Hashable, Unit] = {}
        for index, instance in enumerate(instances):
            key = _passage_key(instance) if self._group_passages else index
            groups.setdefault(key, []).append(index)
        return sorted(
            groups.values(),
            key=lambda group: (
                -len(instances[group[0]].fields["passage"]),
                -_longest_question(group, instances),
            ),
        )

    def _limit(self, longest_passage: int) -> int:
        if self._max_tokens is None:
            return self._batch_size
        return max(1, min(self._batch_size, self._max_tokens // max(1, longest_passage)))

    def _may_end(self, bucket: _Bucket, next_length: int) -> bool:
        return (
            len(bucket.batches) >= self._min_batches_per_bucket
            and next_length < (1 - self._padding_noise) * bucket.longest_passage
        )

    def _draw_batches(self, bucket: _Bucket, instances: Sequence[Instance]) -> List[List[Unit]]:
        """
        The batches of a bucket with other units of the same sizes, so that they hold what they held
        before. Units with questions of similar length come together.
        """
        units_by_size: Dict[int, List[Unit]] = {}
        for batch in bucket.batches:
            for unit in batch:
                units_by_size.setdefault(len(unit), []).append(unit)
        drawn = {
            size: iter(sorted(units, key=lambda unit: self._noisy_question_length(unit, instances)))
            for size, units in units_by_size.items()
        }
        return [[next(drawn[len(unit)]) for unit in batch] for batch in bucket.batches]

    def _noisy_question_length(self, unit: Unit, instances: Sequence[Instance]) -> float:
        noise = random.uniform(-self._padding_noise, self._padding_noise)
        return _longest_question(unit, instances) * (1 + noise)


def _passage_key(instance: Instance) -> Hashable:
    """Equal for questions on the same passage."""
    passage = cast(TextField, instance.fields["passage"])
    metadata = instance.fields.get("metadata")
    text = metadata.get("passage") if isinstance(metadata, MetadataField) else None
    if text is None or not len(passage):
        return id(passage)
    # Not the field: a data loader with workers sends every question with a copy of its own. Place and
    # length tell pieces of a long text apart.
    return text, passage.tokens[0].idx, len(passage)


def _longest_question(unit: Unit, instances: Sequence[Instance]) -> int:
    return max(len(instances[index].fields["question"]) for index in unit)

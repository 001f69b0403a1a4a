import random
from typing import Dict, Hashable, Iterable, List, Optional, Sequence, cast

from allennlp.common.checks import ConfigurationError
from allennlp.data import BatchSampler, Instance
from allennlp.data.fields import MetadataField, TextField
from overrides import overrides

from bidaf_plugin.runtime.batches_by_length import Bucket, Group, flatten, make_buckets


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
        self._padding_noise = padding_noise

    @overrides
    def get_batch_indices(self, instances: Sequence[Instance]) -> Iterable[List[int]]:
        question_lengths = _lengths(instances, "question")
        batches = [
            flatten(batch)
            for bucket in self._make_buckets(instances)
            for batch in (
                self._draw_batches(bucket, question_lengths) if self._shuffle else bucket.batches
            )
        ]
        if self._shuffle:
            random.shuffle(batches)
        return batches

    @overrides
    def get_num_batches(self, instances: Sequence[Instance]) -> int:
        return sum(len(bucket.batches) for bucket in self._make_buckets(instances))

    @overrides
    def get_batch_size(self) -> Optional[int]:
        return self._batch_size

    def _make_buckets(self, instances: Sequence[Instance]) -> List[Bucket]:
        return make_buckets(
            _lengths(instances, "passage"),
            self._batch_size,
            self._max_tokens,
            _lengths(instances, "question"),
            [_passage_key(instance) for instance in instances] if self._group_passages else None,
            # Without chance there is nothing to exchange: every batch is a bucket.
            padding_noise=self._padding_noise if self._shuffle else 0.0,
            min_batches=2 if self._shuffle else 1,
        )

    def _draw_batches(self, bucket: Bucket, question_lengths: List[int]) -> List[List[Group]]:
        """
        The batches of a bucket with other groups of the same sizes, so that they hold what they held
        before. Groups with questions of similar length come together.
        """
        groups_of_size: Dict[int, List[Group]] = {}
        for batch in bucket.batches:
            for group in batch:
                groups_of_size.setdefault(len(group), []).append(group)

        def noisy_question_length(group: Group) -> float:
            noise = random.uniform(-self._padding_noise, self._padding_noise)
            return max(question_lengths[index] for index in group) * (1 + noise)

        drawn = {
            size: iter(sorted(groups, key=noisy_question_length))
            for size, groups in groups_of_size.items()
        }
        return [[next(drawn[len(group)]) for group in batch] for batch in bucket.batches]


def _lengths(instances: Sequence[Instance], name: str) -> List[int]:
    return [len(cast(TextField, instance.fields[name])) for instance in instances]


def _passage_key(instance: Instance) -> Hashable:
    """Equal for questions on the same passage."""
    passage = cast(TextField, instance.fields["passage"])
    metadata = instance.fields.get("metadata")
    text = metadata.get("passage") if isinstance(metadata, MetadataField) else None
    if text is None or not len(passage):
        return id(passage)
    # Not the field: a data loader with workers sends every question with a copy of its own. Start and
    # length tell pieces of a long text apart.
    return text, passage.tokens[0].idx, len(passage)

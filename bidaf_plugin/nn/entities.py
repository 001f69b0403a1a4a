"""
From scores of words to probabilities of entities: the output of the cloze test of
[Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603), after the attention sum of
[Kadlec et al. (2016)](https://arxiv.org/abs/1603.01547).

All windows of a batch are in one tensor, `(num_windows, window_length)`, and `example_of_window` says
whose each is. An entity word that is in several windows, because they overlap, counts once in each: the
softmax of an example is over all entity words of all of its windows.
"""

from typing import NamedTuple, Tuple

import torch
from allennlp.data import TextFieldTensors
from allennlp.nn import util

# In place of the index of a candidate, for an answer that is none of them.
UNKNOWN_ANSWER = -1
NOT_IN_ARTICLE = -2


class EntityLogProbs(NamedTuple):
    """
    word_log_probs : `torch.Tensor`
        `log p1` of each word, shape `(num_windows, window_length)`; minus infinity where there is no
        entity.
    entity_log_probs : `torch.Tensor`
        Of each candidate, shape `(num_examples, num_entities)`; minus infinity for candidates that
        an example does not have.
    """

    word_log_probs: torch.Tensor
    entity_log_probs: torch.Tensor


class WindowsOfBatch(NamedTuple):
    """
    indices : `torch.LongTensor`
        Shape `(num_windows,)`: the real windows of a batch, as indices of a tensor flattened to
        `(batch_size * max_windows, window_length)`.
    example_of_window : `torch.LongTensor`
        Shape `(num_windows,)`: whose window each is.
    """

    indices: torch.Tensor
    example_of_window: torch.Tensor


def find_windows_of_batch(passage_mask: torch.Tensor) -> WindowsOfBatch:
    """
    Which windows of a padded batch are real: at least one; if there are none, one of padding.

    # Parameters

    passage_mask : `torch.BoolTensor`
        Shape `(batch_size, max_windows, window_length)`.
    """
    # Shape: (num_windows,)
    indices = passage_mask.any(dim=-1).flatten().nonzero().squeeze(-1)
    if len(indices) == 0:
        indices = indices.new_zeros(1)
    return WindowsOfBatch(indices, indices // passage_mask.size(1))


def separate_windows(passage: TextFieldTensors) -> Tuple[TextFieldTensors, WindowsOfBatch]:
    """The windows of all passages of a batch as passages of their own."""
    # Shape: (batch_size, max_windows, window_length)
    mask = util.get_text_field_mask(passage, num_wrapping_dims=1)
    windows = find_windows_of_batch(mask)
    separated = {
        indexer: {name: tensor.flatten(0, 1)[windows.indices] for name, tensor in tensors.items()}
        for indexer, tensors in passage.items()
    }
    return separated, windows


def entity_log_probabilities(
    word_logits: torch.Tensor,
    entity_ids: torch.Tensor,
    example_of_window: torch.Tensor,
    num_examples: int,
    num_entities: int,
) -> EntityLogProbs:
    """
    `P(entity) = sum of p1 over its occurrences`, where `p1` is the softmax of the logits over all
    entity words of an example: in logarithms, the log-sum-exp over the occurrences of the entity
    minus the log-sum-exp over all entity words. Words that are no entities have no share. It is
    computed in single precision at least.

    # Parameters

    word_logits : `torch.Tensor`
        Shape `(num_windows, window_length)`.
    entity_ids : `torch.LongTensor`
        Shape `(num_windows, window_length)`: the candidate each word is, -1 for other words.
    example_of_window : `torch.LongTensor`
        Shape `(num_windows,)`.
    num_examples : `int`
    num_entities : `int`
        The largest number of candidates of an example.
    """
    is_entity = entity_ids >= 0
    # Shape: (num_windows, window_length)
    logits = word_logits.float() if word_logits.dtype.itemsize < 4 else word_logits
    logits = logits.masked_fill(~is_entity, 0.0)
    # Shape: (num_windows, window_length)
    examples = example_of_window.unsqueeze(-1).expand_as(entity_ids)
    # What is no entity goes to a segment of its own, which is thrown away.
    # Shape: (num_windows, window_length)
    segments = torch.where(is_entity, examples, num_examples)
    # Large logits would leave no digits for their differences.
    # Shape: (num_windows, window_length)
    logits = logits - _segment_max(logits, segments, num_examples + 1)[segments]
    # Shape: (num_windows, window_length)
    segments = torch.where(
        is_entity, examples * num_entities + entity_ids, num_examples * num_entities
    )
    # Shape: (num_examples, num_entities)
    entity_logits = segment_logsumexp(
        logits.flatten(), segments.flatten(), num_examples * num_entities + 1
    )[:-1].view(num_examples, num_entities)
    # Shape: (num_examples, 1)
    normalizers = _finite(entity_logits.logsumexp(dim=-1, keepdim=True))
    # Shape: (num_windows, window_length)
    word_log_probs = logits - normalizers.squeeze(-1)[examples]
    return EntityLogProbs(
        word_log_probs.masked_fill(~is_entity, -torch.inf), entity_logits - normalizers
    )


def segment_logsumexp(
    values: torch.Tensor, segments: torch.Tensor, num_segments: int
) -> torch.Tensor:
    """
    The log-sum-exp of the values of each segment, shape `(num_segments,)`; minus infinity for a segment
    without values.

    # Parameters

    values : `torch.Tensor`
        Shape `(num_values,)`.
    segments : `torch.LongTensor`
        Shape `(num_values,)`: the segment of each value.
    """
    # Shape: (num_segments,)
    maxima = _segment_max(values, segments, num_segments)
    # Shape: (num_segments,)
    sums = values.new_zeros(num_segments).index_add(0, segments, (values - maxima[segments]).exp())
    is_empty = sums == 0
    # Shape: (num_segments,)
    return (sums.masked_fill(is_empty, 1.0).log() + maxima).masked_fill(is_empty, -torch.inf)


def _segment_max(values: torch.Tensor, segments: torch.Tensor, num_segments: int) -> torch.Tensor:
    """
    The largest value of each segment, zero for an empty one. It is subtracted and added again: neither the
    result nor its gradient depends on it, so it has no gradient.
    """
    # Shape: (num_segments,)
    maxima = values.new_full((num_segments,), -torch.inf)
    return _finite(maxima.scatter_reduce(0, segments.flatten(), values.detach().flatten(), "amax"))


def _finite(values: torch.Tensor) -> torch.Tensor:
    """Zero in place of minus infinity, which means that there is nothing, and cannot be subtracted."""
    return values.masked_fill(values == -torch.inf, 0.0)


def entity_loss(entity_log_probs: torch.Tensor, answer_entities: torch.Tensor) -> torch.Tensor:
    """
    `-log P(answer)`, averaged over the examples that have an answer among their candidates; zero if
    there are none.

    # Parameters

    entity_log_probs : `torch.Tensor`
        Shape `(num_examples, num_entities)`.
    answer_entities : `torch.LongTensor`
        Shape `(num_examples,)`; `UNKNOWN_ANSWER` and `NOT_IN_ARTICLE` have no loss.
    """
    has_answer = answer_entities >= 0
    # Shape: (num_examples,)
    log_probs = entity_log_probs.gather(1, answer_entities.clamp(min=0).unsqueeze(1)).squeeze(1)
    # Shape: (num_examples,)
    losses = -log_probs.masked_fill(~has_answer, 0.0)
    return losses.sum() / has_answer.sum().clamp(min=1)


def best_entities(entity_log_probs: torch.Tensor) -> torch.Tensor:
    """
    The most probable candidate of each example, shape `(num_examples,)`; -1 where there are no candidates.

    # Parameters

    entity_log_probs : `torch.Tensor`
        Shape `(num_examples, num_entities)`.
    """
    # Shape: (num_examples,) for both
    largest, indices = entity_log_probs.max(dim=-1)
    return indices.masked_fill(largest == -torch.inf, -1)

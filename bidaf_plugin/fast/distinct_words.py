"""
What occurs several times in a batch is computed once: words, which saves the character CNN and the highway
network two thirds of their work, and in evaluation passages that several questions share.

The dropout of the character CNN then strikes a word in the same way wherever it stands in a batch. All other
dropouts are by position.
"""

from typing import Callable, List, Optional, Tuple

import torch
from allennlp.data import TextFieldTensors
from allennlp.modules import TextFieldEmbedder
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.modules.token_embedders import Embedding, TokenCharactersEncoder
from allennlp.nn import util

from bidaf_plugin.modules.token_embedders import FixedAndTrainedEmbedder
from bidaf_plugin.nn.encoded_text import EncodedText

_MULTIPLIER = 6364136223846793005  # of Knuth's linear congruential generator
_INCREMENT = 1442695040888963407


def embeds_words_alone(text_field_embedder: TextFieldEmbedder) -> bool:
    """Whether the vector of a word is the same wherever the word stands."""
    context_free = (Embedding, FixedAndTrainedEmbedder, TokenCharactersEncoder)
    return isinstance(text_field_embedder, BasicTextFieldEmbedder) and all(
        isinstance(getattr(text_field_embedder, f"token_embedder_{key}"), context_free)
        for key in text_field_embedder._ordered_embedder_keys
    )


def encode_distinct(
    text: TextFieldTensors,
    embed: Callable[[TextFieldTensors], torch.Tensor],
    encode: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    has_dropout: bool,
) -> Optional[EncodedText]:
    """
    # Parameters

    text : `TextFieldTensors`
    embed : `Callable`
        From a text to vectors of shape `(batch_size, num_tokens, dim)`, the same for a word wherever it
        stands.
    encode : `Callable`
        From these and a mask to vectors in their context.
    has_dropout : `bool`
        Then two texts that are the same are not encoded to the same.

    # Returns

    `Optional[EncodedText]`
        None if `text` has anything but ids of words and ids of their characters.
    """
    distinct = find_distinct_words(text)
    if distinct is None:
        return None
    mask = util.get_text_field_mask(text)
    words, word_at_position = distinct
    # Shape: (num_words, dim)
    embedded_words = embed(words).squeeze(0)
    # Shape: (batch_size, num_tokens, dim)
    embedded = torch.nn.functional.embedding(word_at_position, embedded_words)
    if has_dropout or len(mask) == 1:
        return EncodedText(mask, embedded, encode(embedded, mask))
    # Shape: (num_texts,) and (batch_size,)
    representatives, kinds = find_distinct_rows(word_at_position)
    # Shape: (num_texts, num_tokens, encoding_dim)
    encoded = encode(embedded[representatives], mask[representatives])
    return EncodedText(mask, embedded, encoded[kinds])


def find_distinct_rows(rows: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """
    # Parameters

    rows : `torch.LongTensor`
        Shape `(num_rows, size)`.

    # Returns

    representatives : `torch.LongTensor`
        The index of one row of each kind, shape `(num_distinct,)`.
    kinds : `torch.LongTensor`
        The kind of each row, shape `(num_rows,)`: `rows[representatives][kinds]` equals `rows`.
    """
    # Shape: (num_rows,)
    numbers = torch.arange(len(rows), device=rows.device)
    if len(rows) == 1:
        return numbers, numbers
    # Comparing one number per row instead of whole rows is what makes this cheap.
    # Shape: (size,)
    weights = rows.new_full((rows.size(1),), _MULTIPLIER).cumprod(0)
    # Shape: (num_rows, size)
    mixed = rows * _MULTIPLIER + _INCREMENT
    # Shape: (num_rows,)
    hashes = ((mixed ^ (mixed >> 29)) * weights).sum(dim=1)
    # Shape: (num_distinct,) and (num_rows,)
    distinct, kinds = hashes.unique(return_inverse=True)
    # Shape: (num_distinct,)
    representatives = torch.empty_like(distinct).scatter_(0, kinds, numbers)
    # Equal hashes of unequal rows: will not happen, but must not go unseen.
    if not torch.equal(rows[representatives][kinds], rows):
        return numbers, numbers
    return representatives, kinds


def find_distinct_words(
    text: TextFieldTensors,
) -> Optional[Tuple[TextFieldTensors, torch.Tensor]]:
    """
    # Returns

    `Optional[Tuple[TextFieldTensors, torch.Tensor]]`
        The distinct words of `text` as one text of shape `(1, num_words)`, and for each position of
        `text` the index of its word, shape `(batch_size, num_tokens)`. None if `text` has anything
        but ids of words and ids of their characters.
    """
    tensors = _tensors(text)
    shape = tensors[0].shape[:2]
    if any(
        tensor.dim() > 3 or tensor.shape[:2] != shape or tensor.is_floating_point()
        for tensor in tensors
    ):
        return None
    # Shape: (batch_size * num_tokens, total number of ids of a word)
    rows = torch.cat([tensor.reshape(shape.numel(), -1) for tensor in tensors], dim=1)
    # Shape: (num_words,) and (batch_size * num_tokens,)
    representatives, kinds = find_distinct_rows(rows)
    return _take_words(text, representatives), kinds.view(shape)


def _tensors(text: TextFieldTensors) -> List[torch.Tensor]:
    return [tensor for tensors in text.values() for tensor in tensors.values()]


def _take_words(text: TextFieldTensors, positions: torch.Tensor) -> TextFieldTensors:
    """The words at some positions as one text of shape `(1, num_words)`."""
    return {
        indexer: {
            name: tensor.flatten(0, 1)[positions].unsqueeze(0)
            for name, tensor in tensors_of_indexer.items()
        }
        for indexer, tensors_of_indexer in text.items()
    }

"""
What occurs several times in a batch is computed once: words, which saves the character CNN and the highway
network two thirds of their work, and in evaluation passages that several questions share.

The dropout of the character CNN then strikes a word in the same way wherever it stands in a batch. All other
dropouts are by position.
"""

from typing import Callable, List, Optional, Sequence, Tuple

import torch
from allennlp.data import TextFieldTensors
from allennlp.nn import util

from bidaf_plugin.nn.encoded_text import EncodedText

_MULTIPLIER = 6364136223846793005  # of Knuth's linear congruential generator
_INCREMENT = 1442695040888963407
_WORDS_ARE_MULTIPLES_OF = 32


def encode_distinct(
    texts: Sequence[TextFieldTensors],
    embed: Callable[[TextFieldTensors], torch.Tensor],
    encode: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    has_dropout: bool,
) -> Optional[List[EncodedText]]:
    """
    # Parameters

    texts : `Sequence[TextFieldTensors]`
        Questions and passages.
    embed : `Callable`
        From a text to vectors of shape `(batch_size, num_tokens, dim)`, the same for a word wherever it
        stands.
    encode : `Callable`
        From these and a mask to vectors in their context.
    has_dropout : `bool`
        Then two texts that are the same are not encoded to the same, and questions and passages are embedded
        apart.

    # Returns

    `Optional[List[EncodedText]]`
        None if a text has anything but ids of words and ids of their characters.
    """
    groups = [[text] for text in texts] if has_dropout else [list(texts)]
    embedded_texts: List[torch.Tensor] = []
    places: List[torch.Tensor] = []
    for group in groups:
        distinct = find_distinct_words(group)
        if distinct is None:
            return None
        words, places_of_texts = distinct
        # Shape: (num_words, dim)
        embedded_words = embed(words).squeeze(0)
        for places_of_text in places_of_texts:
            # Shape: (batch_size, num_tokens, dim)
            embedded_texts.append(torch.nn.functional.embedding(places_of_text, embedded_words))
        places += places_of_texts
    masks = map(util.get_text_field_mask, texts)
    return [
        EncodedText(mask, embedded, _encode_once(encode, embedded, mask, place, has_dropout))
        for mask, embedded, place in zip(masks, embedded_texts, places, strict=True)
    ]


def _encode_once(
    encode: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    embedded: torch.Tensor,
    mask: torch.Tensor,
    places: torch.Tensor,
    has_dropout: bool,
) -> torch.Tensor:
    """`encode(embedded, mask)`, where texts with the same words are encoded once."""
    if has_dropout or len(mask) == 1:
        return encode(embedded, mask)
    # Shape: (num_texts,) and (batch_size,)
    representatives, kinds = find_distinct_rows(places)
    # Shape: (num_texts, num_tokens, encoding_dim)
    return encode(embedded[representatives], mask[representatives])[kinds]


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
    texts: Sequence[TextFieldTensors],
) -> Optional[Tuple[TextFieldTensors, List[torch.Tensor]]]:
    """
    # Returns

    `Optional[Tuple[TextFieldTensors, List[torch.Tensor]]]`
        The distinct words of all texts as one text of shape `(1, num_words)`, the first of them several times
        so that there are a multiple of 32; and for each position of each
        text the index of its word there, shapes `(batch_size, num_tokens)`. None if a text has anything but
        ids of words and ids of their characters, or if words have fewer of them in one text than in another.
    """
    tensors_of_texts = [_tensors(text) for text in texts]
    if not all(map(_are_ids, tensors_of_texts)):
        return None
    if len({tuple(tensor.shape[2:] for tensor in tensors) for tensors in tensors_of_texts}) > 1:
        return None
    # One text of all words.
    # Shape: (total number of tokens,) or (total number of tokens, number of characters) each
    joined = [
        torch.cat([tensor.flatten(0, 1) for tensor in tensors])
        for tensors in zip(*tensors_of_texts, strict=True)
    ]
    # Shape: (num_words,) and (total number of tokens,)
    representatives, kinds = find_distinct_rows(
        torch.cat([tensor.reshape(len(tensor), -1) for tensor in joined], dim=1)
    )
    # For every new number of words oneDNN compiles code, and keeps it.
    num_missing = -len(representatives) % _WORDS_ARE_MULTIPLES_OF
    representatives = torch.nn.functional.pad(representatives, (0, num_missing))
    # Shape: (1, num_words) or (1, num_words, number of characters) each
    of_words = (tensor[representatives].unsqueeze(0) for tensor in joined)
    words: TextFieldTensors = {
        indexer: {name: next(of_words) for name in tensors} for indexer, tensors in texts[0].items()
    }
    shapes = [tensors[0].shape[:2] for tensors in tensors_of_texts]
    places = kinds.split([shape.numel() for shape in shapes])
    return words, [place.view(shape) for place, shape in zip(places, shapes, strict=True)]


def _tensors(text: TextFieldTensors) -> List[torch.Tensor]:
    return [tensor for tensors in text.values() for tensor in tensors.values()]


def _are_ids(tensors: List[torch.Tensor]) -> bool:
    """Whether these are ids of words, or of their characters."""
    return all(
        tensor.dim() in (2, 3)
        and tensor.shape[:2] == tensors[0].shape[:2]
        and not tensor.is_floating_point()
        for tensor in tensors
    )

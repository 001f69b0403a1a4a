"""
What occurs several times in a batch is computed once: words, which saves the character CNN and the highway
network two thirds of their work, and in evaluation passages that several questions share.

The dropout of the character CNN then strikes a word in the same way at all of its positions in a batch. All
other dropouts are by position.
"""

from typing import Callable, List, Optional, Sequence, Tuple

import torch
from allennlp.data import TextFieldTensors

_MULTIPLIER = 6364136223846793005  # of Knuth's linear congruential generator
# For every new number of words oneDNN compiles code, and keeps it.
_WORDS_ARE_MULTIPLES_OF = 32


def embed_once(
    texts: Sequence[TextFieldTensors],
    embed: Callable[[TextFieldTensors], torch.Tensor],
    is_apart: bool,
) -> Optional[List[Tuple[torch.Tensor, torch.Tensor]]]:
    """
    # Parameters

    texts : `Sequence[TextFieldTensors]`
        Questions and passages.
    embed : `Callable`
        From a text to vectors of shape `(batch_size, num_tokens, dim)`, the same for a word whatever the
        words around it.
    is_apart : `bool`
        Whether each text has embeddings of its own, with a dropout of its own.

    # Returns

    `Optional[List[Tuple[torch.Tensor, torch.Tensor]]]`
        Of each text the vectors, shape `(batch_size, num_tokens, dim)`, and the numbers of its words, shape
        `(batch_size, num_tokens)`. None if a text has anything but ids of words and ids of their characters, and
        while the network is traced, of which nothing may depend on the words of one batch.
    """
    if torch.jit.is_tracing():
        return None
    embedded = []
    for group in [[text] for text in texts] if is_apart else [texts]:
        found = find_distinct_words(group)
        if found is None:
            return None
        words, numbers_of_texts = found
        # Shape: (num_words, dim)
        vectors = embed(words).squeeze(0)
        for numbers in numbers_of_texts:
            embedded.append((torch.nn.functional.embedding(numbers, vectors), numbers))
    return embedded


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
    # Shape: (num_rows,)
    hashes = (rows * weights).sum(dim=1)
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
        so that there are a multiple of 32; and for each text the indices of its words there, shape
        `(batch_size, num_tokens)`. None if a text has anything but ids of words and ids of their characters,
        or if words have fewer of them in one text than in another.
    """
    tensors_of_texts = [
        [tensor for tensors in text.values() for tensor in tensors.values()] for text in texts
    ]
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
    num_missing = -len(representatives) % _WORDS_ARE_MULTIPLES_OF
    representatives = torch.nn.functional.pad(representatives, (0, num_missing))
    # Shape: (1, num_words) or (1, num_words, number of characters) each
    of_words = (tensor[representatives].unsqueeze(0) for tensor in joined)
    words: TextFieldTensors = {
        indexer: {name: next(of_words) for name in tensors} for indexer, tensors in texts[0].items()
    }
    shapes = [tensors[0].shape[:2] for tensors in tensors_of_texts]
    indices = kinds.split([shape.numel() for shape in shapes])
    return words, [index.view(shape) for index, shape in zip(indices, shapes, strict=True)]


def _are_ids(tensors: List[torch.Tensor]) -> bool:
    """Whether these are ids of words, or of their characters."""
    return all(
        tensor.dim() in (2, 3)
        and tensor.shape[:2] == tensors[0].shape[:2]
        and not tensor.is_floating_point()
        for tensor in tensors
    )

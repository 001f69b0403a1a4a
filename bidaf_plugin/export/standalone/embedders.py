"""
The first two layers: the vectors of words, each by itself.
"""

from typing import Any, Callable, Dict, List, Protocol

import numpy
import torch

from bidaf_plugin.export.standalone.tensors import Tensors, linear, numbered_parts, part


class Embedder(Protocol):
    def __call__(self, words: List[str]) -> torch.Tensor:
        """The vector of each word. Shape: (num_words, dim)"""


class WordEmbedder:
    """
    A vector per word of the vocabulary, and one for all others.

    # Parameters

    settings : `Dict[str, Any]`
        `namespace` and `unknown_index` of the vocabulary, `lowercase`.
    vocabulary : `Dict[str, List[str]]`
        The words of each namespace in the order of their indices.
    tensors : `Tensors`
        `vectors`, shape `(vocabulary_size, dim)`.
    """

    def __init__(
        self, settings: Dict[str, Any], vocabulary: Dict[str, List[str]], tensors: Tensors
    ) -> None:
        self._lowercase: bool = settings["lowercase"]
        self._unknown_index: int = settings["unknown_index"]
        self._vectors = tensors["vectors"]
        self._index_of_word = _indices(vocabulary[settings["namespace"]], self._vectors)

    def __call__(self, words: List[str]) -> torch.Tensor:
        items = map(str.lower, words) if self._lowercase else words
        indices = [self._index_of_word.get(item, self._unknown_index) for item in items]
        # Shape: (num_words, dim)
        return torch.nn.functional.embedding(torch.tensor(indices), self._vectors)


class CharacterEmbedder:
    """
    The convolution over the characters of a word: see `CharacterCnnEncoder`.

    # Parameters

    settings : `Dict[str, Any]`
        `namespace` and `unknown_index` of the vocabulary, `max_word_length`.
    vocabulary : `Dict[str, List[str]]`
        The characters of each namespace in the order of their indices.
    tensors : `Tensors`
        `vectors`, shape `(vocabulary_size, character_dim)`, and those of the `convolution`.
    """

    def __init__(
        self, settings: Dict[str, Any], vocabulary: Dict[str, List[str]], tensors: Tensors
    ) -> None:
        self._max_word_length: int = settings["max_word_length"]
        self._unknown_index: int = settings["unknown_index"]
        self._index_of_character = _indices(vocabulary[settings["namespace"]], tensors["vectors"])
        self._tensors = tensors

    def __call__(self, words: List[str]) -> torch.Tensor:
        # Shape: (num_words, word_length)
        characters = self._index(words)
        mask = characters != 0
        # Shape: (num_words, word_length, character_dim)
        vectors = torch.nn.functional.embedding(characters, self._tensors["vectors"])
        vectors = vectors * mask.unsqueeze(-1)
        weight, bias = self._tensors["convolution.weight"], self._tensors["convolution.bias"]
        # A window begins at each character, and sees zeros beyond the last.
        # Shape: (num_words, character_dim, word_length + filter_width - 1)
        padded = torch.nn.functional.pad(vectors.transpose(1, 2), (0, weight.size(2) - 1))
        # Shape: (num_words, num_filters, word_length)
        features = torch.nn.functional.conv1d(padded, weight, bias)
        features = features.masked_fill_(~mask.unsqueeze(1), 0.0)
        # Shape: (num_words, num_filters)
        return torch.relu(features.max(dim=-1).values)

    def _index(self, words: List[str]) -> torch.Tensor:
        # Shape: (num_words, max_word_length)
        indices = numpy.zeros((len(words), self._max_word_length), dtype=numpy.int64)
        for row, word in zip(indices, words, strict=True):
            characters = word[: self._max_word_length]
            row[: len(characters)] = [
                self._index_of_character.get(character, self._unknown_index)
                for character in characters
            ]
        return torch.from_numpy(indices)


class TextEmbedder:
    """
    What the embedders give, side by side, after a highway network.

    # Parameters

    settings : `List[Dict[str, Any]]`
        Of each embedder, with its `type`.
    vocabulary : `Dict[str, List[str]]`
    tensors : `Tensors`
        `embedders` and the layers of `highway`.
    """

    def __init__(
        self, settings: List[Dict[str, Any]], vocabulary: Dict[str, List[str]], tensors: Tensors
    ) -> None:
        types: Dict[str, Callable[..., Embedder]] = {
            "words": WordEmbedder,
            "characters": CharacterEmbedder,
        }
        self._embedders: List[Embedder] = [
            types[setting["type"]](setting, vocabulary, tensors_of_embedder)
            for setting, tensors_of_embedder in zip(
                settings, numbered_parts(part(tensors, "embedders")), strict=True
            )
        ]
        self._highway = numbered_parts(part(tensors, "highway"))

    def __call__(self, words: List[str]) -> torch.Tensor:
        # Shape: (num_words, embedding_dim)
        vectors = torch.cat([embedder(words) for embedder in self._embedders], dim=-1)
        for layer in self._highway:
            # Shape of each: (num_words, embedding_dim)
            changed, gate = linear(vectors, layer).chunk(2, dim=-1)
            gate = torch.sigmoid(gate)
            vectors = gate * vectors + (1 - gate) * torch.relu(changed)
        return vectors


def _indices(items: List[str], vectors: torch.Tensor) -> Dict[str, int]:
    if len(items) > len(vectors):
        raise ValueError(f"{len(items)} words or characters, but {len(vectors)} vectors")
    return {item: index for index, item in enumerate(items)}

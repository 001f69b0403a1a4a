"""
The paper's cloze test: windows around the entities of an article, a softmax over all entity words of
all windows, and the sum over the mentions of an entity.
"""

import re
from collections.abc import Sequence
from typing import Optional

import numpy

from tests.numpy_bidaf.layers import Array, softmax


def is_entity(word: str) -> bool:
    """`@entity` and a number."""
    return re.fullmatch("@entity[0123456789]+", word) is not None


def split_into_windows(words: Sequence[str], width: Optional[int]) -> list[list[str]]:
    """
    "We split each article into short sentences where each sentence is a 19-word window around each
    entity": as many words on both sides of it, as far as the article goes. Without a width, the article.
    """
    if width is None:
        return [list(words)]
    windows = []
    for middle, word in enumerate(words):
        if is_entity(word):
            neighbours = range(middle - (width - 1) // 2, middle + (width - 1) // 2 + 1)
            windows.append([words[i] for i in neighbours if 0 <= i < len(words)])
    return windows


def entity_probabilities(
    windows: Sequence[Sequence[str]], scores: Sequence[Array]
) -> tuple[list[Array], dict[str, float]]:
    """
    `p1`, "we mask out all non-entity words", and "the probability of each entity is the sum of its
    instances".

    # Parameters

    windows : `Sequence[Sequence[str]]`
        The words of each window.
    scores : `Sequence[Array]`
        Of each word of each window.

    # Returns

    word_probabilities : `list[Array]`
        `p1` of each word of each window.
    probabilities : `dict[str, float]`
        Of each entity.
    """
    places = [(w, i) for w, words in enumerate(windows) for i in range(len(words))]
    places = [(w, i) for w, i in places if is_entity(windows[w][i])]
    word_probabilities = [numpy.zeros(len(words)) for words in windows]
    probabilities: dict[str, float] = {}
    shares = softmax(numpy.array([scores[w][i] for w, i in places]))
    for (w, i), share in zip(places, shares, strict=True):
        word_probabilities[w][i] = share
        probabilities[windows[w][i]] = probabilities.get(windows[w][i], 0.0) + share
    return word_probabilities, probabilities

"""
The words of a cloze question: which are entities, which windows are around them, and the tokens that
the model sees.
"""

from typing import Dict, List, Optional, Tuple

import numpy
from allennlp.data import Token

from bidaf_plugin.data.dataset_readers.cloze_question import ENTITY, PLACEHOLDER
from bidaf_plugin.data.token_indexers.cloze_words_indexer import PLACEHOLDER_NAME, entity_name

# With a blank, which no word has.
_ENTITY_KEY = "entity "
# Of longer words the model sees only the beginning: a server would remember them for long.
_MAX_WORD_LENGTH = 100


def number_entities(words: List[str], number_of: Dict[str, int]) -> Tuple[List[int], List[int]]:
    """
    Finds the entities among words.

    # Parameters

    words : `List[str]`
        Entities in it are replaced, in place, by what `TokenTable` knows them by.
    number_of : `Dict[str, int]`
        The numbers of known entities. New ones are added, with the next numbers.

    # Returns

    positions : `List[int]`
        Which words are entities.
    entities : `List[int]`
        The number of each.
    """
    positions = [
        position for position, word in enumerate(words) if word[0] == "@" and ENTITY.fullmatch(word)
    ]
    entities = []
    for position in positions:
        number = number_of.setdefault(words[position], len(number_of))
        words[position] = f"{_ENTITY_KEY}{number}"
        entities.append(number)
    return positions, entities


def find_windows(positions: List[int], num_words: int, window: Optional[int]) -> numpy.ndarray:
    """
    The windows of `window` words around each of the positions, cut where the text ends; the whole
    text if `window` is None.

    # Returns

    `numpy.ndarray`
        Shape `(num_windows, 2)`: first word and one past the last.
    """
    if window is None:
        return numpy.array([[0, num_words]], dtype=numpy.int64)
    # Shape: (num_windows,)
    middles = numpy.array(positions, dtype=numpy.int64)
    reach = window // 2
    starts = numpy.maximum(middles - reach, 0)
    ends = numpy.minimum(middles + reach + 1, num_words)
    return numpy.stack([starts, ends], axis=1)


def number_words(words: List[str]) -> Tuple[List[str], numpy.ndarray]:
    """
    # Returns

    distinct_words : `List[str]`
        In the order of their first occurrences.
    word_numbers : `numpy.ndarray`
        Shape `(num_words,)`: the text, as places in `distinct_words`.
    """
    distinct_words = list(dict.fromkeys(words))
    number_of = dict(zip(distinct_words, range(len(distinct_words)), strict=True))
    numbers = map(number_of.__getitem__, words)
    return distinct_words, numpy.fromiter(numbers, dtype=numpy.int64, count=len(words))


class TokenTable(Dict[str, Token]):
    """
    The token of each word, made when it is first asked for. All entities have the same text, so that
    no indexer can tell one from another by it; their `ent_type_` differ.
    """

    def __missing__(self, word: str) -> Token:
        if word.startswith(_ENTITY_KEY):
            number = int(word.removeprefix(_ENTITY_KEY))
            token = Token("@entity", ent_type_=entity_name(number))
        elif word == PLACEHOLDER:
            token = Token(word, ent_type_=PLACEHOLDER_NAME)
        else:
            # The data is in lower case; text of one's own may not be.
            token = Token(word[:_MAX_WORD_LENGTH].lower())
        if len(word) <= _MAX_WORD_LENGTH:
            self[word] = token
        return token

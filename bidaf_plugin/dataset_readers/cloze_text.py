"""
The words of a cloze question: which are entities, which windows are around them, and the tokens that
the model sees.
"""

import zlib
from typing import Dict, List, Optional, Sequence

from allennlp.data import Token

from bidaf_plugin.dataset_readers.cloze_question import ENTITY, PLACEHOLDER
from bidaf_plugin.fields.windowed_text_field import Window
from bidaf_plugin.token_indexers.cloze_words_indexer import PLACEHOLDER_NAME, entity_name


def number_entities(words: Sequence[str], number_of: Dict[str, int]) -> List[int]:
    """
    The number of the entity that each word is, or -1. Entities that are not in `number_of` yet are
    added to it, with the next numbers.
    """
    entities = [-1] * len(words)
    for position, word in enumerate(words):
        if word.startswith("@") and ENTITY.fullmatch(word):
            entities[position] = number_of.setdefault(word, len(number_of))
    return entities


def find_windows(entities: Sequence[int], window: Optional[int]) -> List[Window]:
    """
    The windows of `window` words around each entity, cut where the text ends; the whole text if
    `window` is None.

    # Parameters

    entities : `Sequence[int]`
        For each word of the text the number of its entity, or -1.
    window : `int`, optional
        An odd number.
    """
    if window is None:
        return [(0, len(entities))]
    reach = window // 2
    return [
        (max(position - reach, 0), min(position + reach + 1, len(entities)))
        for position, entity in enumerate(entities)
        if entity >= 0
    ]


def make_tokens(
    words: Sequence[str], entities: Sequence[int], known: Dict[str, Token]
) -> List[Token]:
    """
    The tokens of words. All entities have the same text, so that no indexer can tell one from another
    by it; `ent_type_` has a name for each.

    # Parameters

    words : `Sequence[str]`
    entities : `Sequence[int]`
        For each word the number of its entity, or -1.
    known : `Dict[str, Token]`
        Tokens made earlier: all occurrences of a word share one.
    """
    tokens = []
    for word, entity in zip(words, entities, strict=True):
        key = word if entity < 0 else entity_name(entity)
        token = known.get(key)
        if token is None:
            token = known[key] = _make_token(word, entity)
        tokens.append(token)
    return tokens


def _make_token(word: str, entity: int) -> Token:
    if entity >= 0:
        return Token("@entity", ent_type_=entity_name(entity))
    if word == PLACEHOLDER:
        return Token(word, ent_type_=PLACEHOLDER_NAME)
    # The data is in lower case; text of one's own may not be.
    return Token(word.lower())


def seed_of_text(seed: int, question: Sequence[Token], passage: Sequence[Token]) -> int:
    """A number for a text that does not depend on how the text names its entities."""
    words = [token.ent_type_ or token.ensure_text() for token in (*question, *passage)]
    return zlib.crc32(f"{seed} {' '.join(words)}".encode("utf-8", "replace"))

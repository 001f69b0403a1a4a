"""
From a cloze question to the instance of `BidafClozeReader`: which of its words are entities, which windows
are around them, and how they get other names each time a batch is made.
"""

import random
from typing import Any, Dict, List, Optional

import numpy
import torch
from allennlp.data import Field, Instance, Token, Vocabulary
from overrides import overrides

from bidaf_plugin.data.dataset_readers.cloze_question import ENTITY, PLACEHOLDER
from bidaf_plugin.data.token_indexers import ClozeWordsIndexer
from bidaf_plugin.data.token_indexers.word_indexers import PLACEHOLDER_NAME, entity_name

# What an entity is called where its name would be: with a blank, which no word has.
_ENTITY_KEY = "entity "
# Of longer words the model sees only the beginning: a server would remember them for long.
_MAX_WORD_LENGTH = 100
# Words that are remembered before the memory is emptied.
_MAX_CACHED_WORDS = 200_000


class ClozeInstance(Instance):
    """
    A cloze question whose entities get new names whenever a tensor is made of it: "the IDs must be
    shuffled constantly during test, which is also critical for full anonymization"
    ([Seo et al., 2017](https://arxiv.org/abs/1611.01603)). It makes no difference whether the data is
    read anew in every epoch or kept in memory.

    The entities of a question are numbered from 0. Each time they get different ones of the names of
    `ClozeWordsIndexer`, the same in question and passage. Other indexers see no names.

    # Parameters

    fields : `Dict[str, Field]`
        With `question`, `passage` and `entity_ids`, see `BidafClozeReader`.
    question_entities : `numpy.ndarray`
        The number of the entity that each word of the question is, or -1.
    num_entities : `int`
        How many entities there are in question and passage together.
    seed : `int`, optional (default = `None`)
        The names that come from this number, the same each time. Without it they are drawn from
        Python's random numbers, which AllenNLP seeds (`random_seed`).
    """

    __slots__ = ["_question_entities", "_num_entities", "_seed", "_entity_rows"]

    def __init__(
        self,
        fields: Dict[str, Field],
        question_entities: numpy.ndarray,
        num_entities: int,
        seed: Optional[int] = None,
    ) -> None:
        super().__init__(fields)
        self._question_entities = question_entities
        self._num_entities = num_entities
        self._seed = seed
        # By name of the indexer.
        self._entity_rows: Dict[str, torch.Tensor] = {}

    @overrides
    def index_fields(self, vocab: Vocabulary) -> None:
        if not self.indexed:
            indexers = self.fields["passage"].token_indexers  # type: ignore[attr-defined]
            self._entity_rows = {
                name: indexer.entity_rows(vocab)
                for name, indexer in indexers.items()
                if isinstance(indexer, ClozeWordsIndexer)
            }
        super().index_fields(vocab)

    @overrides(check_signature=False)
    def as_tensor_dict(
        self, padding_lengths: Optional[Dict[str, Dict[str, int]]] = None
    ) -> Dict[str, Any]:
        tensors = super().as_tensor_dict(padding_lengths)
        if not self._num_entities:
            return tensors
        # Shape: (question_length,)
        question_entities = torch.from_numpy(self._question_entities)
        for name, rows in self._entity_rows.items():
            # Shape: (num_entities,)
            names = rows[self._draw(len(rows))]
            # Behind the words of the question is padding.
            # Shape: (question_length,)
            question = tensors["question"][name]["tokens"][: len(question_entities)]
            # Shape: (num_windows, window_length)
            passage = tensors["passage"][name]["tokens"]
            for words, entities in (
                (question, question_entities),
                (passage, tensors["entity_ids"]),
            ):
                is_entity = entities >= 0
                words[is_entity] = names[entities[is_entity]]
        return tensors

    def _draw(self, num_names: int) -> List[int]:
        generator: Any = random if self._seed is None else random.Random(self._seed)
        drawn = generator.sample(range(num_names), min(self._num_entities, num_names))
        # More entities than names: the rest share them.
        return drawn + generator.choices(range(num_names), k=self._num_entities - len(drawn))

    @overrides
    def duplicate(self) -> "ClozeInstance":
        new = ClozeInstance(
            {name: field.duplicate() for name, field in self.fields.items()},
            self._question_entities,
            self._num_entities,
            self._seed,
        )
        new.indexed, new._entity_rows = self.indexed, self._entity_rows
        return new


def number_entities(words: List[str], number_of: Dict[str, int]) -> numpy.ndarray:
    """
    Numbers the entities among words, and puts in their place, in the list, what `WordTokens` knows them by.
    `number_of` has the numbers of known entities, and gets those of new ones.

    # Returns

    `numpy.ndarray`
        Shape `(num_words,)`: the number of the entity that each word is, or -1.
    """
    numbers = numpy.full(len(words), -1, dtype=numpy.int64)
    for position, word in enumerate(words):
        if word[0] == "@" and ENTITY.fullmatch(word):
            numbers[position] = number = number_of.setdefault(word, len(number_of))
            words[position] = f"{_ENTITY_KEY}{number}"
    return numbers


def find_windows(positions: numpy.ndarray, num_words: int, window: Optional[int]) -> numpy.ndarray:
    """
    The windows of `window` words around each of the positions, cut where the text ends; the whole
    text if `window` is None.

    # Returns

    `numpy.ndarray`
        Shape `(num_windows, 2)`: first word and one past the last.
    """
    if window is None:
        return numpy.array([[0, num_words]], dtype=numpy.int64)
    reach = window // 2
    starts = numpy.maximum(positions - reach, 0)
    ends = numpy.minimum(positions + reach + 1, num_words)
    return numpy.stack([starts, ends], axis=1)


class WordTokens(Dict[str, Token]):
    """
    The token of each word, made when it is first asked for. All entities have the same text, so that
    no indexer can tell one from another by it; their `ent_type_` differ.
    """

    def __missing__(self, word: str) -> Token:
        if word.startswith(_ENTITY_KEY):
            token = Token("@entity", ent_type_=entity_name(int(word.removeprefix(_ENTITY_KEY))))
        elif word == PLACEHOLDER:
            token = Token(word, ent_type_=PLACEHOLDER_NAME)
        else:
            # The data is in lower case; text of one's own may not be.
            token = Token(word[:_MAX_WORD_LENGTH].lower())
        if len(self) >= _MAX_CACHED_WORDS:
            self.clear()
        if len(word) <= _MAX_WORD_LENGTH:
            self[word] = token
        return token

"""
From a cloze question to the instance of `BidafClozeReader`: which of its words are entities, which windows
are around them, and how they get other names each time a batch is made.
"""

import random
import zlib
from typing import Any, Dict, List, Optional, Tuple

import numpy
import torch
from allennlp.data import Field, Instance, Token, Vocabulary
from allennlp.data.fields import ArrayField, MetadataField, TextField
from overrides import overrides

from bidaf_plugin.data.dataset_readers.cloze_question import (
    ENTITY,
    PLACEHOLDER,
    ClozeQuestion,
    QuestionError,
)
from bidaf_plugin.data.fields.windowed_text_field import WindowedTextField
from bidaf_plugin.data.token_indexers import ClozeWordsIndexer
from bidaf_plugin.data.token_indexers.cloze_words_indexer import PLACEHOLDER_NAME, entity_name
from bidaf_plugin.nn.entities import NOT_IN_ARTICLE, UNKNOWN_ANSWER

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
    question_positions : `List[int]`
        Which words of the question are entities.
    question_entities : `List[int]`
        The number of each.
    num_entities : `int`
        How many entities there are in question and passage together.
    seed : `int`, optional (default = `None`)
        The names that come from this number, the same each time. Without it they are drawn from
        Python's random numbers, which AllenNLP seeds (`random_seed`).
    """

    __slots__ = [
        "_question_positions",
        "_question_entities",
        "_num_entities",
        "_seed",
        "_entity_rows",
    ]

    def __init__(
        self,
        fields: Dict[str, Field],
        question_positions: List[int],
        question_entities: List[int],
        num_entities: int,
        seed: Optional[int] = None,
    ) -> None:
        super().__init__(fields)
        self._question_positions = question_positions
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
        # Shape: (num_windows, window_length)
        entity_ids = tensors["entity_ids"]
        for name, rows in self._entity_rows.items():
            # Shape: (num_entities,)
            names = rows[self._draw(len(rows))]
            # Shape: (question_length,)
            question = tensors["question"][name]["tokens"]
            for position, entity in zip(
                self._question_positions, self._question_entities, strict=True
            ):
                question[position] = names[entity]
            passage = tensors["passage"][name]
            # The name at -1, the last, is not used.
            # Shape: (num_windows, window_length)
            passage["tokens"] = torch.where(entity_ids >= 0, names[entity_ids], passage["tokens"])
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
            self._question_positions,
            self._question_entities,
            self._num_entities,
            self._seed,
        )
        new.indexed, new._entity_rows = self.indexed, self._entity_rows
        return new


def make_cloze_instance(
    question: ClozeQuestion,
    tokens: "WordTokens",
    window: Optional[int],
    keep_unanswerable: bool,
    seed: Optional[int],
) -> ClozeInstance:
    """
    # Parameters

    question : `ClozeQuestion`
    tokens : `WordTokens`
    window : `int`, optional
    keep_unanswerable : `bool`
    seed : `int`, optional
        See `BidafClozeReader`.

    # Raises

    `QuestionError`, if the answer is not in the article and the question is not kept.
    """
    question_words, passage_words = question.question.split(), question.article.split()
    # Candidates come first; a question may name entities that are not in the article.
    number_of: Dict[str, int] = {}
    positions, entities = number_entities(passage_words, number_of)
    candidates = list(number_of)
    question_positions, question_entities = number_entities(question_words, number_of)
    if seed is not None:
        # It does not depend on how the file names its entities.
        text = " ".join([str(seed), *question_words, *passage_words])
        seed = zlib.crc32(text.encode("utf-8", "replace"))

    windows = find_windows(positions, len(passage_words), window)
    distinct_words, word_numbers = number_words(passage_words)
    passage = WindowedTextField([tokens[word] for word in distinct_words], word_numbers, windows)
    # One more for padding, which has position -1.
    # Shape: (num_words + 1,)
    entity_of_word = numpy.full(len(passage_words) + 1, -1)
    entity_of_word[positions] = entities
    # Shape: (num_windows, window_length)
    entity_ids = entity_of_word[passage.word_positions()]
    answer_entity = numpy.array(_find_answer(question, candidates, keep_unanswerable))
    fields: Dict[str, Field] = {
        "question": TextField([tokens[word] for word in question_words]),
        "passage": passage,
        "entity_ids": ArrayField(entity_ids, padding_value=-1, dtype=numpy.int64),
        "answer_entity": ArrayField(answer_entity, dtype=numpy.int64),
        "metadata": MetadataField(
            {
                "id": question.id,
                "question": question.question,
                "passage": question.article,
                "candidates": candidates,
                "candidate_names": [question.names.get(entity) for entity in candidates],
                "answer": question.answer,
                "window_starts": windows[:, 0].tolist(),
            }
        ),
    }
    return ClozeInstance(fields, question_positions, question_entities, len(number_of), seed)


def _find_answer(question: ClozeQuestion, candidates: List[str], keep_unanswerable: bool) -> int:
    if question.answer is None:
        return UNKNOWN_ANSWER
    if question.answer in candidates:
        return candidates.index(question.answer)
    if keep_unanswerable:
        return NOT_IN_ARTICLE
    if not candidates:
        raise QuestionError(f"{question.place}: the article has no entity", "no entities")
    raise QuestionError(
        f"{question.place}: the answer {question.answer!r} is not in the article",
        "answer not in the article",
    )


def number_entities(words: List[str], number_of: Dict[str, int]) -> Tuple[List[int], List[int]]:
    """
    Finds the entities among words.

    # Parameters

    words : `List[str]`
        Entities in it are replaced, in place, by what `WordTokens` knows them by.
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
        Shape `(num_words,)`: the text, as indices into `distinct_words`.
    """
    distinct_words = list(dict.fromkeys(words))
    number_of = {word: number for number, word in enumerate(distinct_words)}
    return distinct_words, numpy.array([number_of[word] for word in words], dtype=numpy.int64)


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

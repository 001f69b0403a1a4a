import random
from typing import Any, Dict, List, Optional

import torch
from allennlp.data import Field, Instance, Vocabulary
from overrides import overrides

from bidaf_plugin.data.token_indexers import ClozeWordsIndexer


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

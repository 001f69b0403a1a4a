"""
Long passages in pieces that the model can read.
"""

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy
from allennlp.data import Instance
from allennlp.data.fields import MetadataField

from bidaf_plugin.data.fields import AnswerSpansField, SharedTextField
from bidaf_plugin.data.token_indexers.word_indexer import words_of
from bidaf_plugin.data.tokenizers.text_tokens import character_offsets
from bidaf_plugin.runtime.pieces import PieceSettings
from bidaf_plugin.runtime.ranking import ReadPiece


class QuestionOnPassages(NamedTuple):
    """
    A question, as an instance for each passage that it is asked about.

    is_list : `bool`
        Whether the passages came as a list, so that an answer must say which one it is from.
    n_best : `int`
        How many answers to list, in place of what is asked for all questions.
    """

    instances: List[Instance]
    is_list: bool = False
    n_best: Optional[int] = None


class Piece(NamedTuple):
    """
    A piece of a passage, or a whole one.

    question_index : `int`
        Which of the questions it belongs to.
    passage_index : `int`
        Which of the passages of this question it is of.
    first_token : `int`
        Where in the passage the piece begins.
    instance : `Instance`
        Its offsets of characters are those of the whole passage.
    prior : `float`
        What is added to the score of every span: 0 at the most.
    """

    question_index: int
    passage_index: int
    first_token: int
    instance: Instance
    prior: float = 0.0

    def as_read(self) -> ReadPiece:
        """What a `Ranking` needs to know of it."""
        metadata = self.instance["metadata"].metadata
        offsets = numpy.array(character_offsets(metadata["passage_tokens"]))
        place = self.passage_index, self.first_token, self.prior
        return ReadPiece(metadata["passage"], offsets, *place)


class PieceCutter:
    """
    Cuts passages into pieces that overlap. Questions on the same passage share its pieces.

    # Parameters

    settings : `PieceSettings`
    """

    def __init__(self, settings: PieceSettings) -> None:
        self._settings = settings
        # By the passage's field, which is kept so that no other gets its id, and the first token.
        self._fields: Dict[Tuple[int, int], Tuple[object, SharedTextField]] = {}

    def cut(self, question_index: int, instances: Sequence[Instance]) -> List[Piece]:
        """All pieces of the passages of a question."""
        pieces = [
            Piece(question_index, index, first_token, self._piece(instance, first_token))
            for index, instance in enumerate(instances)
            for first_token in self._settings.first_tokens(len(instance["passage"]))
        ]
        if len(pieces) == 1:
            return pieces
        priors = self._settings.priors(
            words_of(instances[0]["question"].tokens),
            [words_of(piece.instance["passage"].tokens) for piece in pieces],
        )
        return [piece._replace(prior=prior) for piece, prior in zip(pieces, priors, strict=True)]

    def _piece(self, instance: Instance, first_token: int) -> Instance:
        passage = instance["passage"]
        if len(passage) <= self._settings.max_tokens:
            return instance
        key = id(passage), first_token
        if key not in self._fields:
            tokens = passage.tokens[first_token : first_token + self._settings.piece_tokens]
            self._fields[key] = passage, SharedTextField(tokens)
        _, field = self._fields[key]
        metadata = instance["metadata"].metadata.changed(passage_tokens=field.tokens)
        return Instance(
            {
                "question": instance["question"],
                "passage": field,
                "metadata": MetadataField(metadata),
                # Gold answers, if there are any, are in terms of the whole passage.
                "answer_spans": AnswerSpansField([]),
            }
        )

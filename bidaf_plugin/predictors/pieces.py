"""
Long passages in pieces that the model can read.
"""

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from allennlp.data import Instance
from allennlp.data.fields import MetadataField

from bidaf_plugin.data.fields import AnswerSpansField, SharedTextField
from bidaf_plugin.data.token_indexers.word_indexer import words_of
from bidaf_plugin.predictors.passage_similarity import similarities


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


class PieceCutter:
    """
    Cuts passages into pieces that overlap. Questions on the same passage share its pieces.

    # Parameters

    max_tokens : `int`
        Passages with more tokens are cut.
    stride : `int`
        How many tokens after the beginning of a piece the next one begins.
    passage_weight : `float`
        How much it counts that a piece has the words of the question: the prior of a piece is this
        number times (its similarity to the question - that of the most similar piece).
    piece_tokens : `int`, optional (default = `max_tokens`)
        The number of tokens of a piece.
    """

    def __init__(
        self,
        max_tokens: int,
        stride: int,
        passage_weight: float,
        piece_tokens: Optional[int] = None,
    ) -> None:
        self._max_tokens = max_tokens
        self._stride = stride
        self._passage_weight = passage_weight
        self._piece_tokens = piece_tokens or max_tokens
        # By the passage's field, which is kept so that no other gets its id, and the first token.
        self._fields: Dict[Tuple[int, int], Tuple[object, SharedTextField]] = {}

    def cut(self, question_index: int, instances: Sequence[Instance]) -> List[Piece]:
        """All pieces of the passages of a question."""
        pieces = [
            Piece(question_index, index, first_token, self._piece(instance, first_token))
            for index, instance in enumerate(instances)
            for first_token in self._first_tokens(len(instance["passage"]))
        ]
        if len(pieces) == 1 or self._passage_weight == 0:
            return pieces
        found = similarities(
            words_of(instances[0]["question"].tokens),
            [words_of(piece.instance["passage"].tokens) for piece in pieces],
        )
        best = max(found)
        return [
            piece._replace(prior=self._passage_weight * (similarity - best))
            for piece, similarity in zip(pieces, found, strict=True)
        ]

    def _first_tokens(self, length: int) -> List[int]:
        if length <= self._max_tokens:
            return [0]
        # The last piece ends with the passage and is as long as the others.
        last = length - self._piece_tokens
        return [*range(0, last, self._stride), last]

    def _piece(self, instance: Instance, first_token: int) -> Instance:
        passage = instance["passage"]
        if len(passage) <= self._max_tokens:
            return instance
        key = id(passage), first_token
        if key not in self._fields:
            tokens = passage.tokens[first_token : first_token + self._piece_tokens]
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

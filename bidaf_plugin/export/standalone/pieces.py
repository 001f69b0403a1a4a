"""
Long passages in pieces that the model can read.
"""

from typing import Dict, List, NamedTuple, Sequence, Tuple

from bidaf_plugin.export.standalone.exported_tokenizer import Tokens
from bidaf_plugin.runtime.passage_similarity import similarities


class Piece(NamedTuple):
    """
    A piece of a passage, or a whole one.

    question : `int`
        The place of the question among all.
    passage_index : `int`
        The place of the passage among those of the question.
    first_token : `int`
        Where in the passage the piece begins.
    tokens : `Tokens`
        Its offsets of characters are those of the whole passage.
    prior : `float`
        What is added to the score of every span: 0 at the most.
    """

    question: int
    passage_index: int
    first_token: int
    tokens: Tokens
    prior: float = 0.0


class PassageCutter:
    """
    Cuts passages into pieces that overlap: see `PieceCutter`.

    # Parameters

    max_tokens : `int`
        Passages with more tokens are cut.
    stride : `int`
        How many tokens after the beginning of a piece the next one begins.
    passage_weight : `float`
        How much it counts that a piece has the words of the question.
    piece_tokens : `int`
        The number of tokens of a piece.
    """

    def __init__(
        self, max_tokens: int, stride: int, passage_weight: float, piece_tokens: int
    ) -> None:
        if not 1 <= piece_tokens <= max_tokens or stride < 1 or passage_weight < 0:
            raise ValueError(
                f"pieces of {piece_tokens} tokens of passages of more than {max_tokens}, one every "
                f"{stride}, weighted by {passage_weight}"
            )
        self._max_tokens = max_tokens
        self._stride = stride
        self._passage_weight = passage_weight
        self._piece_tokens = piece_tokens
        # By the passage, which is kept so that no other gets its id.
        self._cut_passages: Dict[int, Tuple[Tokens, List[Tuple[int, Tokens]]]] = {}

    def cut(self, place: int, question: Tokens, passages: Sequence[Tokens]) -> List[Piece]:
        """All pieces of the passages of a question. Questions on the same passage share its pieces."""
        pieces = [
            Piece(place, index, first_token, tokens)
            for index, passage in enumerate(passages)
            for first_token, tokens in self._cut(passage)
        ]
        if len(pieces) == 1 or self._passage_weight == 0:
            return pieces
        found = similarities(question.words, [piece.tokens.words for piece in pieces])
        best = max(found)
        return [
            piece._replace(prior=self._passage_weight * (similarity - best))
            for piece, similarity in zip(pieces, found, strict=True)
        ]

    def _cut(self, passage: Tokens) -> List[Tuple[int, Tokens]]:
        length = len(passage.words)
        if length <= self._max_tokens:
            return [(0, passage)]
        if id(passage) not in self._cut_passages:
            # The last piece ends with the passage and is as long as the others.
            last = length - self._piece_tokens
            pieces = [
                (first, passage.part(first, first + self._piece_tokens))
                for first in (*range(0, last, self._stride), last)
            ]
            self._cut_passages[id(passage)] = passage, pieces
        return self._cut_passages[id(passage)][1]

"""
Long passages in pieces that the model can read.
"""

from typing import List, NamedTuple, Sequence

from bidaf_plugin.runtime.passage_similarity import similarities


class PieceSettings(NamedTuple):
    """
    How passages are cut into pieces that overlap.

    # Parameters

    max_tokens : `int`
        Passages with more tokens are cut.
    stride : `int`
        How many tokens after the beginning of a piece the next one begins.
    passage_weight : `float`
        How much it counts that a piece has the words of the question: the prior of a piece is this
        number times (its similarity to the question - that of the most similar piece).
    piece_tokens : `int`
        The number of tokens of a piece.
    """

    max_tokens: int
    stride: int
    passage_weight: float
    piece_tokens: int

    def first_tokens(self, length: int) -> List[int]:
        """Where the pieces of a passage begin."""
        if length <= self.max_tokens:
            return [0]
        # The last piece ends with the passage and is as long as the others.
        last = length - self.piece_tokens
        return [*range(0, last, self.stride), last]

    def priors(self, question: Sequence[str], pieces: Sequence[Sequence[str]]) -> List[float]:
        """
        What is added to the score of every span of each piece, of the passages of one question: 0 at the most.

        # Parameters

        question : `Sequence[str]`
            Its words.
        pieces : `Sequence[Sequence[str]]`
            The words of each piece.
        """
        if len(pieces) == 1 or self.passage_weight == 0:
            return [0.0] * len(pieces)
        found = similarities(question, pieces)
        best = max(found)
        return [self.passage_weight * (similarity - best) for similarity in found]

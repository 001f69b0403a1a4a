from typing import Iterator, NamedTuple, Sequence

from allennlp.common import Registrable

from bidaf_plugin.modules.ensemble_rules.span_distribution import SpanDistribution


class Candidate(NamedTuple):
    """An answer of several models: `passage[start:end]`, and how sure they are together."""

    start: int
    end: int
    confidence: float


class EnsembleRule(Registrable):
    """
    How several models answer a question together. `p1_m` and `p2_m` are the probabilities that model
    `m` of `M` gives to the first and to the last token of the answer. Tokens are told apart by their
    first and last characters: a model whose tokenizer makes no cut at a place gives it the
    probability 0. Where all models cut the same way this is the same as counting tokens.
    """

    default_implementation = "votes"

    def candidates(
        self, members: Sequence[SpanDistribution], passage: str
    ) -> Iterator[Candidate]:
        """
        # Parameters

        members : `Sequence[SpanDistribution]`
            What each model says.
        passage : `str`
            What they say it about.

        # Returns

        `Iterator[Candidate]`
            Answers, the best first; at least one. A confidence is between 0 and 1.
        """
        raise NotImplementedError

from typing import Iterator, NamedTuple, Optional, Sequence, Tuple

from allennlp.common import Registrable

from bidaf_plugin.modules.ensemble_rules.span_distribution import SpanDistribution


class Candidate(NamedTuple):
    """
    What several models may answer together.

    span : `Tuple[int, int]`
        First character, and one past the last; None if there is no answer.
    confidence : `float`
        From 0 to 1.
    """

    span: Optional[Tuple[int, int]]
    confidence: float

    def text(self, passage: str) -> str:
        """The answer, cut from the passage; empty for no answer."""
        return "" if self.span is None else passage[self.span[0] : self.span[1]]


class EnsembleRule(Registrable):
    """
    How several models answer a question together. `p1_m` and `p2_m` are the probabilities that model
    `m` of `M` gives to the first and to the last token of the answer. Tokens are told apart by their
    first and last characters: a model whose tokenizer makes no cut at a place gives it the
    probability 0. Where all models cut the same way this is the same as counting tokens.
    """

    default_implementation = "votes"

    def candidates(self, members: Sequence[SpanDistribution], passage: str) -> Iterator[Candidate]:
        """
        Spans, the best first.

        # Parameters

        members : `Sequence[SpanDistribution]`
            What each model says.
        passage : `str`
            What they say it about.
        """
        raise NotImplementedError

    def no_answer_probability(self, members: Sequence[SpanDistribution]) -> float:
        """How sure the models are that there is no answer; 0 if none of them can say so."""
        raise NotImplementedError

    def best(
        self,
        members: Sequence[SpanDistribution],
        passage: str,
        no_answer_threshold: Optional[float] = None,
    ) -> Candidate:
        """
        The answer: the best span, or none if that is more probable.

        # Parameters

        no_answer_threshold : `float`, optional (default = `None`)
            The answer is none if the probability of that is larger than this number, in place of the
            confidence in the best span.
        """
        no_answer = Candidate(None, self.no_answer_probability(members))
        best = next(self.candidates(members, passage), no_answer)
        threshold = best.confidence if no_answer_threshold is None else no_answer_threshold
        return no_answer if no_answer.confidence > threshold else best

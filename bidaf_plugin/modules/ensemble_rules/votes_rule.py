from typing import Dict, Iterator, Sequence

from overrides import overrides

from bidaf_plugin.modules.ensemble_rules.ensemble_rule import Candidate, EnsembleRule
from bidaf_plugin.modules.ensemble_rules.span_distribution import SpanDistribution
from bidaf_plugin.modules.ensemble_rules.spans_rule import SpansRule


@EnsembleRule.register("votes")
class VotesRule(EnsembleRule):
    """
    The rule of [Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603): each model votes for
    the text of its best span with its confidence, and the text with most votes wins.

    `score(text) = 1/M sum_m [best span of m reads text] * max_{k <= l} p1_m(k) * p2_m(l)`

    A text that stands in the passage several times is one answer; its place is that of the surest
    vote. No answer is an answer, too; if all models vote for it, the spans behind it are those of
    `SpansRule`. (The paper has the sum; the mean is the same choice, and a confidence.)

    Registered as an `EnsembleRule` with name "votes", the default.
    """

    @overrides
    def candidates(self, members: Sequence[SpanDistribution], passage: str) -> Iterator[Candidate]:
        found: Dict[str, Candidate] = {}
        for member in sorted(members, key=lambda member: -member.confidence):
            if member.best_span is None:
                continue
            text = Candidate(member.best_span, 0.0).text(passage)
            surest = found.get(text, Candidate(member.best_span, 0.0))
            votes = surest.confidence + member.confidence / len(members)
            found[text] = Candidate(surest.span, votes)
        if not found:
            # No model has an answer. Which it would be can still be asked for.
            yield from SpansRule().candidates(members, passage)
        # Of equal ones the surest single vote comes first.
        yield from sorted(found.values(), key=lambda candidate: -candidate.confidence)

    @overrides
    def no_answer_probability(self, members: Sequence[SpanDistribution]) -> float:
        votes = [member.confidence for member in members if member.best_span is None]
        return sum(votes) / len(members)

from itertools import islice
from math import log, prod
from typing import Callable, Dict, List, Optional, Sequence, Tuple

import numpy
import pytest
from allennlp.common import Params

from bidaf_plugin.modules.ensemble_rules import (
    Candidate,
    EnsembleRule,
    MeanRule,
    ProductRule,
    SpanDistribution,
    SpansRule,
    VotesRule,
    merge_same_texts,
)

PASSAGE = "Ada met Bo, and Bo met Ada-Lou."
WORDS = [(0, 3), (4, 7), (8, 10), (10, 11), (12, 15), (16, 18), (19, 22), (23, 30), (30, 31)]
# The same text by a tokenizer that cuts hyphens and keeps commas.
OTHER_WORDS = [(0, 3), (4, 7), (8, 11), (12, 15), (16, 18), (19, 22), (23, 26), (27, 31)]

Span = Tuple[int, int]


def make_member(
    words: Sequence[Span], seed: int, max_answer_length: Optional[int] = None
) -> SpanDistribution:
    """A model that is about as sure as trained ones are."""
    draw = numpy.random.default_rng(seed)
    starts, ends = numpy.array(words, dtype=numpy.int32).T
    logits = 3 * draw.standard_normal((2, len(words)))
    start_log_probs, end_log_probs = (logits - numpy.logaddexp.reduce(logits, 1)[:, None]).astype(
        numpy.float32
    )
    scores = {
        (first, last): start_log_probs[first] + end_log_probs[last]
        for first in range(len(words))
        for last in range(first, len(words))
        if max_answer_length is None or last - first < max_answer_length
    }
    (first, last), score = max(scores.items(), key=lambda item: item[1])
    return SpanDistribution(
        starts,
        ends,
        start_log_probs,
        end_log_probs,
        (words[first][0], words[last][1]),
        float(numpy.exp(score)),
        max_answer_length,
    )


def read(span: Optional[Span]) -> str:
    assert span is not None
    return PASSAGE[span[0] : span[1]]


def probability(member: SpanDistribution, place: int, side: str) -> float:
    """What a model gives to a character as the first or the end of the answer."""
    places, log_probs = {
        "start": (member.starts, member.start_log_probs),
        "end": (member.ends, member.end_log_probs),
    }[side]
    known = dict(zip(places.tolist(), log_probs.tolist(), strict=True))
    return float(numpy.exp(known[place])) if place in known else 0.0


def brute_force(
    members: Sequence[SpanDistribution], score: Callable[[Sequence[SpanDistribution], Span], float]
) -> List[Tuple[Span, float]]:
    spans = {
        (int(start), int(end))
        for first in members
        for second in members
        for start in first.starts
        for end in second.ends
        if start < end
    }
    return sorted(((span, score(members, span)) for span in spans), key=lambda item: -item[1])


def joint(members: Sequence[SpanDistribution], span: Span) -> float:
    terms = [probability(m, span[0], "start") * probability(m, span[1], "end") for m in members]
    return sum(terms) / len(members)


def mean(members: Sequence[SpanDistribution], span: Span) -> float:
    starts = sum(probability(member, span[0], "start") for member in members) / len(members)
    return starts * sum(probability(member, span[1], "end") for member in members) / len(members)


def product(members: Sequence[SpanDistribution], span: Span) -> float:
    result = 1.0
    for place, side in zip(span, ("start", "end"), strict=True):
        places = {int(p) for m in members for p in (m.starts if side == "start" else m.ends)}
        powers = {
            p: prod(probability(m, p, side) for m in members) ** (1 / len(members)) for p in places
        }
        result *= powers[place] / sum(powers.values())
    return result


FORMULAS = {"spans": joint, "mean": mean, "product": product}


class TestEnsembleRules:
    def test_are_registered_and_votes_is_the_default(self) -> None:
        assert EnsembleRule.list_available() == ["votes", "spans", "mean", "product"]
        assert isinstance(EnsembleRule.from_params(Params({})), VotesRule)

    @pytest.mark.parametrize("rule", FORMULAS)
    @pytest.mark.parametrize("seed", range(0, 60, 3))
    def test_formulas(self, rule: str, seed: int) -> None:
        # Three models that agree on the words, and three of which one does not.
        for last_words in (WORDS, OTHER_WORDS):
            words = (WORDS, WORDS, last_words)
            members = [make_member(words[i], seed + i) for i in range(3)]
            candidates = islice(EnsembleRule.by_name(rule)().candidates(members, PASSAGE), 5)
            expected = brute_force(members, FORMULAS[rule])[:5]
            for candidate, (span, score) in zip(candidates, expected, strict=True):
                assert candidate.span == span
                assert candidate.confidence == pytest.approx(score, rel=1e-9)

    @pytest.mark.parametrize("seed", range(0, 60, 3))
    def test_votes(self, seed: int) -> None:
        members = [make_member((WORDS, OTHER_WORDS)[i % 2], seed + i) for i in range(5)]
        votes: Dict[str, float] = {}
        for member in members:
            text = read(member.best_span)
            votes[text] = votes.get(text, 0.0) + member.confidence / 5
        candidates = list(VotesRule().candidates(members, PASSAGE))
        found = {candidate.text(PASSAGE): candidate.confidence for candidate in candidates}
        assert found == pytest.approx(votes)
        confidences = [candidate.confidence for candidate in candidates]
        assert confidences == sorted(confidences, reverse=True)

    def test_votes_for_a_text_count_together_wherever_it_stands(self) -> None:
        template = make_member(WORDS, 0)
        members = [
            template._replace(best_span=span, confidence=confidence)
            for span, confidence in (((8, 10), 0.2), ((4, 7), 0.4), ((16, 18), 0.3))
        ]
        best, other = VotesRule().candidates(members, PASSAGE)
        # "Bo" has more votes than "met", and the second "Bo" is the surer one.
        assert best.span == (16, 18)
        assert best.confidence == pytest.approx((0.2 + 0.3) / 3)
        assert other.confidence == pytest.approx(0.4 / 3)

    @pytest.mark.parametrize("rule", ["votes", *FORMULAS])
    def test_one_model_answers_as_it_does_alone(self, rule: str) -> None:
        for seed in range(10):
            member = make_member(WORDS, seed, max_answer_length=2)
            best = EnsembleRule.by_name(rule)().best([member], PASSAGE)
            assert best.span == member.best_span
            assert best.confidence == pytest.approx(member.confidence, rel=1e-5)

    @pytest.mark.parametrize("rule", FORMULAS)
    def test_the_smallest_limit_holds(self, rule: str) -> None:
        members = [make_member(WORDS, 1), make_member(WORDS, 2, max_answer_length=1)]
        candidates = list(EnsembleRule.by_name(rule)().candidates(members, PASSAGE))
        assert {candidate.span for candidate in candidates} == set(WORDS)

    def test_a_product_needs_no_common_cut(self) -> None:
        members = [make_member([(0, 31)], 0), make_member([(4, 30)], 1)]
        best = ProductRule().best(members, PASSAGE)
        assert best.span is not None and 0 <= best.span[0] < best.span[1] <= 31
        assert numpy.isfinite(best.confidence)

    def test_rules_differ(self) -> None:
        # One sure model against two that agree on another answer with less.
        def member(first: Sequence[float], last: Sequence[float]) -> SpanDistribution:
            start_log_probs, end_log_probs = numpy.log(numpy.array([first, last]))
            starts, ends = numpy.array([(0, 3), (4, 7)]).T
            best = int(numpy.argmax(first))
            span = (int(starts[best]), int(ends[best]))
            confidence = first[best] * last[best]
            return SpanDistribution(starts, ends, start_log_probs, end_log_probs, span, confidence)

        members = [member([0.98, 0.02], [0.98, 0.02])] + 2 * [member([0.4, 0.6], [0.4, 0.6])]
        answers = {
            rule: rule().best(members, PASSAGE).span
            for rule in (VotesRule, SpansRule, MeanRule, ProductRule)
        }
        # 0.98 * 0.98 against 2 * 0.6 * 0.6.
        assert answers[VotesRule] == (0, 3)
        assert answers[SpansRule] == answers[MeanRule] == answers[ProductRule] == (0, 3)
        weaker = [member([0.75, 0.25], [0.75, 0.25])] + 2 * [member([0.4, 0.6], [0.4, 0.6])]
        # 0.75 * 0.75 against 2 * 0.6 * 0.6; with all spans 0.75 * 0.75 + 2 * 0.4 * 0.4 is more.
        assert VotesRule().best(weaker, PASSAGE).span == (4, 7)
        assert SpansRule().best(weaker, PASSAGE).span == (0, 3)


class TestNoAnswer:
    @pytest.mark.parametrize("rule", ["votes", *FORMULAS])
    def test_models_that_do_not_know_it_never_say_so(self, rule: str) -> None:
        members = [make_member(WORDS, seed) for seed in range(3)]
        assert EnsembleRule.by_name(rule)().no_answer_probability(members) == 0

    def test_no_answer_is_one_more_outcome(self) -> None:
        first, second = (
            make_member(WORDS, seed)._replace(no_answer_log_probs=(log(start), log(end)))
            for seed, start, end in ((0, 0.9, 0.8), (1, 0.5, 0.4))
        )
        members = [first, second]
        assert SpansRule().no_answer_probability(members) == pytest.approx(
            (0.9 * 0.8 + 0.5 * 0.4) / 2
        )
        assert MeanRule().no_answer_probability(members) == pytest.approx(0.7 * 0.6)
        starts = numpy.sqrt(
            numpy.exp([*first.start_log_probs, log(0.9)])
            * numpy.exp([*second.start_log_probs, log(0.5)])
        )
        ends = numpy.sqrt(
            numpy.exp([*first.end_log_probs, log(0.8)])
            * numpy.exp([*second.end_log_probs, log(0.4)])
        )
        assert ProductRule().no_answer_probability(members) == pytest.approx(
            starts[-1] / starts.sum() * ends[-1] / ends.sum()
        )
        # With a third model that cannot say so.
        members.append(make_member(WORDS, 2))
        assert MeanRule().no_answer_probability(members) == pytest.approx(1.4 / 3 * 1.2 / 3)

    def test_no_answer_has_votes(self) -> None:
        template = make_member(WORDS, 0)
        members = [
            template._replace(best_span=span, confidence=confidence)
            for span, confidence in ((None, 0.3), ((0, 3), 0.5), (None, 0.4))
        ]
        assert VotesRule().no_answer_probability(members) == pytest.approx((0.3 + 0.4) / 3)
        best = VotesRule().best(members, PASSAGE)
        assert best.span is None and best.text(PASSAGE) == ""
        assert best.confidence == pytest.approx((0.3 + 0.4) / 3)
        # By another threshold it is the span.
        assert VotesRule().best(members, PASSAGE, no_answer_threshold=0.3).span == (0, 3)
        # If nobody votes for a span, there is none, unless a threshold asks for one.
        alone = [members[0], members[2]]
        assert VotesRule().best(alone, PASSAGE).span is None
        best = VotesRule().best(alone, PASSAGE, no_answer_threshold=0.99)
        assert best == SpansRule().best(alone, PASSAGE) and best.span is not None


class TestMergeSameTexts:
    def test_the_same_text_is_one_answer(self) -> None:
        spans = [((8, 10), 0.3), ((0, 3), 0.25), ((16, 18), 0.1), ((4, 7), 0.02), ((23, 26), 0.3)]
        candidates = iter([Candidate(span, confidence) for span, confidence in spans])
        found = merge_same_texts(candidates, PASSAGE, 2)
        assert found == [Candidate((8, 10), 0.3 + 0.1), Candidate((0, 3), 0.25)]
        # It stops at the third text, and does not go on to the second "Ada".
        assert next(candidates).span == (23, 26)

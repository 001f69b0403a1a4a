import math
from typing import Dict, List, Tuple

import numpy
import pytest

from bidaf_plugin.data.dataset_readers import BidafSquadReader
from bidaf_plugin.predictors.pieces import Piece, PieceCutter
from bidaf_plugin.runtime.answers import answer_key
from bidaf_plugin.runtime.pieces import PieceSettings
from bidaf_plugin.runtime.ranking import Ranking

PASSAGES = ["Ada met Bob and Ada met Cleo .", "Bob met Ada ."]
Logits = Tuple[numpy.ndarray, numpy.ndarray]


def make_pieces(max_tokens: int, stride: int) -> List[Piece]:
    reader = BidafSquadReader()
    instances = [reader.text_to_instance("Who?", passage) for passage in PASSAGES]
    return PieceCutter(PieceSettings(max_tokens, stride, 0.0, max_tokens)).cut(0, instances)


def make_logits(pieces: List[Piece], seed: int = 0) -> List[Logits]:
    generator = numpy.random.RandomState(seed)
    return [
        (generator.normal(size=length), generator.normal(size=length))
        for length in (len(piece.instance["passage"]) for piece in pieces)
    ]


def rank(pieces: List[Piece], logits: List[Logits], n: int = 1000) -> Ranking:
    ranking = Ranking(len(pieces), n)
    for piece, (start, end) in zip(pieces, logits, strict=True):
        ranking.add(piece.as_read(), start, end)
    assert ranking.num_missing == 0
    return ranking


def brute_force(pieces: List[Piece], logits: List[Logits]) -> Dict[str, float]:
    """The probability of every answer by its key, with one softmax over all pieces."""
    start_total = sum(numpy.exp(start).sum() for start, _ in logits)
    end_total = sum(numpy.exp(end).sum() for _, end in logits)
    places: Dict[Tuple[int, str, int], float] = {}
    for piece, (start, end) in zip(pieces, logits, strict=True):
        tokens = piece.instance["passage"].tokens
        of_piece: Dict[Tuple[int, str, int], float] = {}
        for first in range(len(tokens)):
            for last in range(first, len(tokens)):
                text = PASSAGES[piece.passage_index][tokens[first].idx : tokens[last].idx_end]
                key = answer_key(text)
                core = piece.passage_index, key, tokens[first].idx + text.lower().index(key)
                probability = math.exp(start[first] + end[last]) / (start_total * end_total)
                of_piece[core] = of_piece.get(core, 0.0) + probability
        for core, probability in of_piece.items():
            # In two pieces, it is one place.
            places[core] = max(places.get(core, 0.0), probability)
    totals: Dict[str, float] = {}
    for (_, key, _), probability in places.items():
        totals[key] = totals.get(key, 0.0) + probability
    return totals


class TestRanking:
    @pytest.mark.parametrize("max_tokens, stride", [(100, 100), (4, 4), (4, 3), (5, 1)])
    def test_equals_brute_force(self, max_tokens: int, stride: int) -> None:
        for seed in range(10):
            pieces = make_pieces(max_tokens, stride)
            logits = make_logits(pieces, seed)
            expected = brute_force(pieces, logits)
            answers = rank(pieces, logits).answers()
            assert {
                answer_key(answer.text): answer.probability for answer in answers
            } == pytest.approx(expected)
            probabilities = [answer.probability for answer in answers]
            assert probabilities == sorted(probabilities, reverse=True)
            assert sum(probabilities) <= 1

    def test_an_answer_is_where_it_is_most_probable(self) -> None:
        pieces = make_pieces(100, 100)
        for answer in rank(pieces, make_logits(pieces)).answers():
            passage = PASSAGES[answer.passage_index]
            assert passage[answer.start : answer.end] == answer.text
            assert answer.last_token is not None
            words = passage.split()[answer.first_token : answer.last_token + 1]
            assert " ".join(words) == answer.text
        logits = make_logits(pieces)
        logits[1][0][2] = logits[1][1][2] = 30.0  # "Ada" of the second passage
        best = rank(pieces, logits, n=1).answers()
        assert [(answer.text, answer.passage_index) for answer in best] == [("Ada", 1)]
        assert (best[0].first_token, best[0].last_token) == (2, 2)

    def test_tokens_are_counted_in_the_whole_passage(self) -> None:
        pieces = make_pieces(4, 2)
        for answer in rank(pieces, make_logits(pieces)).answers():
            words = PASSAGES[answer.passage_index].split()
            assert answer.last_token is not None
            assert " ".join(words[answer.first_token : answer.last_token + 1]) == answer.text

    def test_the_order_of_the_pieces_makes_no_difference(self) -> None:
        pieces = make_pieces(4, 2)
        # Equal scores, too.
        logits = [(start.round(), end.round()) for start, end in make_logits(pieces)]
        answers = rank(pieces, logits).answers()
        backwards = rank(pieces[::-1], logits[::-1]).answers()
        assert [answer.text for answer in backwards] == [answer.text for answer in answers]
        for answer, other in zip(answers, backwards, strict=True):
            assert answer.probability == pytest.approx(other.probability)
            assert (answer.passage_index, answer.start) == (other.passage_index, other.start)

    def test_a_prior_shifts_all_spans_of_a_piece(self) -> None:
        pieces = make_pieces(100, 100)
        logits = make_logits(pieces)
        shifted = [
            (start - prior / 2, end - prior / 2)
            for (start, end), prior in zip(logits, (0.0, 3.0), strict=True)
        ]
        with_prior = [pieces[0], pieces[1]._replace(prior=-3.0)]
        expected = brute_force(pieces, shifted)
        answers = rank(with_prior, logits).answers()
        assert {answer_key(answer.text): answer.probability for answer in answers} == pytest.approx(
            expected
        )

    def test_the_best_span_is_a_single_one(self) -> None:
        # "Ada" is the more probable answer, and stands in two places of less probability.
        pieces = make_pieces(100, 100)[:1]
        probabilities = numpy.full(8, 0.01)
        probabilities[[0, 4]], probabilities[2] = 0.3, 0.35
        logits = numpy.log(probabilities)
        ranking = rank(pieces, [(logits, logits)], n=1)
        span, probability = ranking.best_span()
        assert (span.text, span.first_token, span.last_token) == ("Bob", 2, 2)
        assert probability == pytest.approx(0.35**2)
        (best,) = ranking.answers()
        assert best.text == "Ada" and best.probability == pytest.approx(2 * 0.3**2)

    def test_no_answer_is_one_more_outcome(self) -> None:
        pieces = make_pieces(4, 2)
        logits = make_logits(pieces)
        ranking = rank(pieces, logits)
        found = ranking.add_no_answer(1.0, 2.0)
        start_total = math.exp(1.0) + sum(numpy.exp(start).sum() for start, _ in logits)
        end_total = math.exp(2.0) + sum(numpy.exp(end).sum() for _, end in logits)
        assert found == pytest.approx(math.exp(1.0 + 2.0) / (start_total * end_total))
        without = rank(pieces, logits).answers()
        assert ranking.answers()[0].probability < without[0].probability

    def test_there_is_no_answer_if_there_is_none_in_any_piece(self) -> None:
        pieces = make_pieces(4, 2)
        logits, of_pieces = make_logits(pieces), [[3.0, 1.0], [0.0, 2.0], [2.0, 2.0], [4.0, 0.0]]
        expected = rank(pieces, logits).add_no_answer(0.0, 2.0)
        for order in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2]):
            ranking = Ranking(len(pieces))
            for number in order:
                ranking.add(pieces[number].as_read(), *logits[number], of_pieces[number])
            record = ranking.to_record("1", is_list=False, no_answer_threshold=1.0)
            assert record["no_answer_probability"] == pytest.approx(expected)

    def test_keeps_few_answers_of_each_piece(self) -> None:
        pieces = make_pieces(100, 100)
        ranking = rank(pieces, make_logits(pieces), n=2)
        assert len(ranking.answers()) == 2
        assert len(ranking._places) <= 10 * len(pieces)

import re
from typing import Dict, List, Optional, Tuple

import numpy
import pytest

from bidaf_plugin.runtime.answers import FoundAnswer, answer_key, top_answers


def find_words(passage: str, word: str = r"\w+|[^\w\s]") -> numpy.ndarray:
    """Shape: (2, num_words)"""
    return numpy.array([match.span() for match in re.finditer(word, passage)]).T


def brute_force(
    start: numpy.ndarray,
    end: numpy.ndarray,
    passage: str,
    offsets: numpy.ndarray,
    max_length: Optional[int],
) -> Dict[str, float]:
    """The probability of every answer, up to a factor, by its key."""
    length = len(start)
    totals: Dict[str, float] = {}
    for first in range(length):
        for last in range(first, min(length, first + (max_length or length))):
            key = answer_key(passage[offsets[0, first] : offsets[1, last]])
            totals[key] = totals.get(key, 0.0) + numpy.exp(start[first] + end[last])
    return totals


def texts_of(answer: FoundAnswer, passage: str, offsets: numpy.ndarray) -> List[str]:
    return [
        passage[offsets[0, first] : offsets[1, last]]
        for first, last in (occurrence.span for occurrence in answer.occurrences)
    ]


def key_of(answer: FoundAnswer, passage: str, offsets: numpy.ndarray) -> str:
    (key,) = set(map(answer_key, texts_of(answer, passage, offsets)))
    return key


def make_case(seed: int) -> Tuple[str, numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    generator = numpy.random.RandomState(seed)
    # From nearly no repetition to hardly anything else.
    words = [f"{'wW'[number % 2]}{number // 2}" for number in range([4, 8, 20, 2000][seed % 4])]
    words += [*["The", "the", "a", "An", "the", "A", ",", ".", "(", ")", "'", "-"]] * (
        seed % 5 * len(words) // 12 + 1
    )
    length = generator.randint(1, 25)
    joints = generator.choice([" ", " ", " ", "  ", "-", "", ", "], size=length)
    passage = "".join(generator.choice(words) + joint for joint in joints)
    # Some tokens have a mark in them, like "a.".
    offsets = find_words(passage, [r"\w+|[^\w\s]", r"[('-]?\w+[.,]?|[^\w\s]"][seed % 3 // 2])
    start, end = generator.normal(scale=2.0, size=(2, offsets.shape[1]))
    return passage, offsets, start, end


class TestAnswerKey:
    @pytest.mark.parametrize(
        "text, key",
        [
            ("Brazil,", "brazil"),
            ("the Brazil", "brazil"),
            ('"The «Brazil»"...', "brazil"),
            ("(a) Brazil", "a) brazil"),
            ("Brazil, the", "brazil"),
            ("A-10", "a-10"),
            ("at 5 a.m.", "at 5 a.m"),
            ("The Who", "who"),
            ("Theory", "theory"),
            ("the the a", ""),
            ("– , .", ""),
            ("ﬁne", "fine"),
            ("東京。", "東京"),
            ("well-known  people", "well-known  people"),
        ],
    )
    def test_is_the_text_without_what_does_not_count(self, text: str, key: str) -> None:
        assert answer_key(text) == key
        assert answer_key(key) == key


class TestTopAnswers:
    @pytest.mark.parametrize("max_length", [None, 1, 2, 3, 7])
    @pytest.mark.parametrize("n", [1, 5, 1000])
    def test_equals_brute_force(self, n: int, max_length: Optional[int]) -> None:
        for seed in range(200):
            passage, offsets, start, end = make_case(seed)
            expected = brute_force(start, end, passage, offsets, max_length)
            answers = top_answers(start, end, passage, offsets, n, max_length)
            keys = [key_of(answer, passage, offsets) for answer in answers]
            assert len(set(keys)) == len(keys) == min(n, len(expected)), passage
            for key, answer in zip(keys, answers, strict=True):
                assert answer.weight == pytest.approx(expected[key])
                assert answer.weight == pytest.approx(
                    sum(occurrence.weight for occurrence in answer.occurrences)
                )
            best = sorted(expected.values(), reverse=True)[: len(answers)]
            assert [answer.weight for answer in answers] == pytest.approx(best)

    @pytest.mark.parametrize("max_length", [None, 1, 2, 3, 7])
    def test_the_span_is_the_best_that_reads_so(self, max_length: Optional[int]) -> None:
        for seed in range(100):
            passage, offsets, start, end = make_case(seed)
            for answer in top_answers(start, end, passage, offsets, 1000, max_length):
                key = key_of(answer, passage, offsets)
                scores = [
                    start[first] + end[last]
                    for first in range(len(start))
                    for last in range(first, min(len(start), first + (max_length or len(start))))
                    if answer_key(passage[offsets[0, first] : offsets[1, last]]) == key
                ]
                found = [
                    start[first] + end[last]
                    for first, last in (occurrence.span for occurrence in answer.occurrences)
                ]
                assert max(found) == pytest.approx(max(scores))

    def test_probabilities_add_up(self) -> None:
        """Those of all answers are those of all spans, which are all there is if none is too long."""
        for seed in range(20):
            passage, offsets, start, end = make_case(seed)
            start, end = (scores - numpy.log(numpy.exp(scores).sum()) for scores in (start, end))
            answers = top_answers(start, end, passage, offsets, n=10**6)
            # p1_k * p2_l over k <= l.
            expected = numpy.triu(numpy.exp(start)[:, None] * numpy.exp(end)[None]).sum()
            assert sum(answer.weight for answer in answers) == pytest.approx(expected)

    def test_occurrences_come_with_the_most_probable_first(self) -> None:
        passage = "Ada met ADA and Ada"
        start, end = numpy.log([[0.2, 0.1, 0.3, 0.1, 0.3], [0.1, 0.1, 0.4, 0.1, 0.3]])
        best, *_ = top_answers(start, end, passage, find_words(passage), n=2)
        assert [occurrence.core for occurrence in best.occurrences] == [(2, 2), (4, 4), (0, 0)]
        assert best.weight == pytest.approx(0.3 * 0.4 + 0.3 * 0.3 + 0.2 * 0.1)

    def test_a_comma_and_an_article_make_no_other_answer(self) -> None:
        passage = "In the Brazil, then"
        start, end = numpy.log([[0.1, 0.2, 0.5, 0.1, 0.1], [0.1, 0.1, 0.3, 0.4, 0.1]])
        best, *_ = top_answers(start, end, passage, find_words(passage), n=1)
        (occurrence,) = best.occurrences
        assert (occurrence.core, occurrence.span) == ((2, 2), (2, 3))
        assert best.weight == pytest.approx((0.2 + 0.5) * (0.3 + 0.4))

    def test_what_stands_between_words_counts(self) -> None:
        passage = "x-b x b x-b"
        offsets = find_words(passage)
        zeros = numpy.zeros(offsets.shape[1])
        answers = top_answers(zeros, zeros, passage, offsets, n=1000)
        weights = {key_of(answer, passage, offsets): answer.weight for answer in answers}
        # "x-", too, is "x".
        assert weights["x-b"] == 2 and weights["x b"] == 1 and weights["x"] == 3 + 2

    def test_makes_no_square_matrix(self) -> None:
        # 100,000 tokens: a (length x length) matrix would need 80 GB.
        passage = " ".join(f"w{number}" for number in range(100_000))
        offsets = find_words(passage)
        start, end = numpy.zeros(100_000), numpy.zeros(100_000)
        start[7] = end[90_000] = 5.0
        best = top_answers(start, end, passage, offsets, n=3)
        assert [occurrence.core for occurrence in best[0].occurrences] == [(7, 90_000)]

    @pytest.mark.parametrize("word", ["word ", "(", "the ", "word, "])
    @pytest.mark.parametrize("max_length", [None, 16])
    def test_a_passage_of_one_word_over_and_over(
        self, word: str, max_length: Optional[int]
    ) -> None:
        passage = word * 300
        offsets = find_words(passage)
        zeros = numpy.zeros(offsets.shape[1])
        answers = top_answers(zeros, zeros, passage, offsets, 3, max_length)
        assert len(answers) == (1 if word in ("(", "the ") else 3)
        if word == "word ":
            assert [answer.weight for answer in answers] == [300, 299, 298]

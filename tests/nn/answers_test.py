import re
from typing import Dict, List, Optional, Tuple

import numpy
import pytest

from bidaf_plugin.nn.answers import AnswerOccurrences, top_answers


def find_words(passage: str) -> numpy.ndarray:
    """Shape: (2, num_words)"""
    return numpy.array([match.span() for match in re.finditer(r"\w+|[^\w\s]", passage)]).T


def brute_force(
    start: numpy.ndarray,
    end: numpy.ndarray,
    passage: str,
    offsets: numpy.ndarray,
    max_length: Optional[int],
) -> Dict[str, float]:
    """The probability of every text that a span has, up to a factor."""
    length = len(start)
    totals: Dict[str, float] = {}
    for first in range(length):
        for last in range(first, min(length, first + (max_length or length))):
            text = passage[offsets[0, first] : offsets[1, last]]
            totals[text] = totals.get(text, 0.0) + numpy.exp(start[first] + end[last])
    return totals


def text_of(answer: AnswerOccurrences, passage: str, offsets: numpy.ndarray) -> str:
    texts = {
        passage[offsets[0, first] : offsets[1, first + answer.length - 1]]
        for first in answer.first_tokens.tolist()
    }
    (text,) = texts
    return text


def make_case(seed: int) -> Tuple[str, numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    generator = numpy.random.RandomState(seed)
    # From nearly no repetition to hardly anything else.
    words = [f"w{number}" for number in range([2, 4, 10, 1000][seed % 4])]
    length = generator.randint(1, 25)
    joints = generator.choice([" ", " ", " ", "  ", "-"], size=length)
    passage = "".join(generator.choice(words) + joint for joint in joints)
    offsets = find_words(passage)
    start, end = generator.normal(scale=2.0, size=(2, offsets.shape[1]))
    return passage, offsets, start, end


class TestTopAnswers:
    @pytest.mark.parametrize("max_length", [None, 1, 3])
    @pytest.mark.parametrize("n", [1, 5, 1000])
    def test_equals_brute_force(self, n: int, max_length: Optional[int]) -> None:
        for seed in range(100):
            passage, offsets, start, end = make_case(seed)
            expected = brute_force(start, end, passage, offsets, max_length)
            answers = top_answers(start, end, passage, offsets, n, max_length)
            texts = [text_of(answer, passage, offsets) for answer in answers]
            assert len(set(texts)) == len(texts) == min(n, len(expected))
            for text, answer in zip(texts, answers, strict=True):
                assert answer.weight == pytest.approx(expected[text])
            best = sorted(expected.values(), reverse=True)[: len(answers)]
            assert [answer.weight for answer in answers] == pytest.approx(best)

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
        passage = "Ada met Ada and Ada"
        start, end = numpy.log([[0.2, 0.1, 0.3, 0.1, 0.3], [0.1, 0.1, 0.4, 0.1, 0.3]])
        best, *_ = top_answers(start, end, passage, find_words(passage), n=2)
        assert best.length == 1
        assert best.first_tokens.tolist() == [2, 4, 0]
        assert best.weight == pytest.approx(0.3 * 0.4 + 0.3 * 0.3 + 0.2 * 0.1)

    def test_what_stands_between_words_counts(self) -> None:
        passage = "a-b a b a-b"
        offsets = find_words(passage)
        zeros = numpy.zeros(offsets.shape[1])
        answers = top_answers(zeros, zeros, passage, offsets, n=1000)
        weights = {text_of(answer, passage, offsets): answer.weight for answer in answers}
        assert weights["a-b"] == 2 and weights["a b"] == 1 and weights["a"] == 3

    def test_makes_no_square_matrix(self) -> None:
        # 100,000 tokens: a (length x length) matrix would need 80 GB.
        passage = " ".join(f"w{number}" for number in range(100_000))
        offsets = find_words(passage)
        start, end = numpy.zeros(100_000), numpy.zeros(100_000)
        start[7] = end[90_000] = 5.0
        best: List[AnswerOccurrences] = top_answers(start, end, passage, offsets, n=3)
        assert (best[0].first_tokens.tolist(), best[0].length) == ([7], 90_000 - 7 + 1)

    def test_a_passage_of_one_word_over_and_over(self) -> None:
        passage = "word " * 300
        offsets = find_words(passage)
        zeros = numpy.zeros(300)
        answers = top_answers(zeros, zeros, passage, offsets, n=3)
        assert [answer.length for answer in answers] == [1, 2, 3]
        assert [answer.weight for answer in answers] == [300, 299, 298]

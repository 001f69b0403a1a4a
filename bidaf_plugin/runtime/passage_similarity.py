"""
How well passages fit a question, by their words alone.
"""

import math
from collections import Counter
from typing import Iterable, List, Sequence


def similarities(question: Sequence[str], passages: Sequence[Sequence[str]]) -> List[float]:
    """
    The cosine of the angle between the question and each passage, from 0 to 1, where a text is a vector
    of its words, each `tf * idf`: `tf = 1 + ln(count)` and `idf = ln(1 + num_passages / num_passages
    with the word)`. So Clark and Gardner (2018) choose paragraphs of a document
    ([link](https://arxiv.org/abs/1710.10723)); "idf" is over the passages at hand.

    # Parameters

    question : `Sequence[str]`
        Its words. Case makes no difference.
    passages : `Sequence[Sequence[str]]`
        The words of each passage.
    """
    counts = [Counter(word.lower() for word in words) for words in passages]
    num_with_word = Counter(word for count in counts for word in count)
    # The longer a passage, the more words it shares with anything: hence the cosine.
    question_vector = {
        word: _weight(count, len(passages), num_with_word[word])
        for word, count in Counter(word.lower() for word in question).items()
        if word in num_with_word
    }
    question_norm = _norm(question_vector.values())
    cosines = []
    for count in counts:
        vector = {
            word: _weight(number, len(passages), num_with_word[word])
            for word, number in count.items()
        }
        product = sum(vector.get(word, 0.0) * weight for word, weight in question_vector.items())
        cosines.append(product / (question_norm * _norm(vector.values())) if product else 0.0)
    return cosines


def _weight(count: int, num_passages: int, num_with_word: int) -> float:
    return (1 + math.log(count)) * math.log(1 + num_passages / num_with_word)


def _norm(values: Iterable[float]) -> float:
    return math.sqrt(sum(value * value for value in values))

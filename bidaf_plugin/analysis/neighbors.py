"""
Words that are close to each other in the spaces of a model: Table 2 of
[Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603).
"""

from typing import Any, Dict, Iterator, List, NamedTuple, Sequence

import numpy
from allennlp.data import Instance

from bidaf_plugin.analysis.tables import markdown_table
from bidaf_plugin.analysis.text_vectors import (
    SPACES,
    context_of,
    iterate_vectors,
    one_per_passage,
    words_of,
)
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.tokenizers import Lexicon
from bidaf_plugin.predictors import SpanPredictor


class Neighbor(NamedTuple):
    """
    A word of the passages, the cosine of its closest occurrence, how often it occurs, and the words
    around that occurrence.
    """

    word: str
    cosine: float
    num_occurrences: int
    context: str


class Neighborhood(NamedTuple):
    """What is closest to a word in one of `SPACES`, the closest first."""

    space: str
    query: str
    neighbors: List[Neighbor]


def find_neighbors(
    predictor: SpanPredictor, instances: Sequence[Instance], words: Sequence[str], k: int = 10
) -> List[Neighborhood]:
    """
    For some query words the closest words of the passages, by cosine, in each of `SPACES`.

    A query word stands for the mean of all of its occurrences in the questions (in the passages if it is
    in no question), each taken with length 1. A word of the passages is as close as the closest of its
    occurrences. Words are cased: "May" is not "may". Of the vectors of all occurrences only the
    cosines with the query words are kept, the best of each word.

    # Parameters

    predictor : `SpanPredictor`
    instances : `Sequence[Instance]`
        Of the reader "bidaf_squad".
    words : `Sequence[str]`
        The query words.
    k : `int`, optional (default = `10`)
        How many neighbours of each.

    # Returns

    `List[Neighborhood]`
        For each query word, one for each space.
    """
    passages = one_per_passage(instances)
    queries = _find_query_vectors(predictor, instances, passages, words)
    lexicon = Lexicon()
    texts = [lexicon.numbers(words_of(passage, "passage")) for passage in passages]
    closest = {space: _ClosestOccurrences(len(lexicon), len(words)) for space in SPACES}
    for passage, vectors in iterate_vectors(predictor, passages, "passage"):
        for space in SPACES:
            # Shape: (num_words_of_passage, num_queries)
            cosines = vectors[space] @ queries[space].T
            closest[space].add(passage, texts[passage], cosines)
    counts = numpy.bincount(numpy.concatenate(texts))

    def make_neighbors(space: str, column: int) -> Iterator[Neighbor]:
        cosines = closest[space].cosines[:, column]
        for number in numpy.argsort(-cosines, kind="stable")[:k]:
            passage, index = closest[space].positions[number, column]
            context = context_of(words_of(passages[passage], "passage"), index)
            yield Neighbor(
                lexicon.words[number], float(cosines[number]), int(counts[number]), context
            )

    return [
        Neighborhood(space, query, list(make_neighbors(space, column)))
        for column, query in enumerate(words)
        for space in SPACES
    ]


class _ClosestOccurrences:
    """For each word and each query, the closest occurrence so far."""

    def __init__(self, num_words: int, num_queries: int) -> None:
        self.cosines = numpy.full((num_words, num_queries), -numpy.inf, dtype=numpy.float32)
        # The passage, and the index of the word in it.
        self.positions = numpy.zeros((num_words, num_queries, 2), dtype=numpy.int32)

    def add(self, passage: int, numbers: numpy.ndarray, cosines: numpy.ndarray) -> None:
        for column in range(cosines.shape[1]):
            values = cosines[:, column]
            (closer,) = (values > self.cosines[numbers, column]).nonzero()
            # Of several occurrences of a word the last one written stays, which is the closest.
            closer = closer[numpy.argsort(values[closer], kind="stable")]
            self.cosines[numbers[closer], column] = values[closer]
            self.positions[numbers[closer], column, 0] = passage
            self.positions[numbers[closer], column, 1] = closer


def _find_query_vectors(
    predictor: SpanPredictor,
    instances: Sequence[Instance],
    passages: Sequence[Instance],
    words: Sequence[str],
) -> Dict[str, numpy.ndarray]:
    """The vectors of the query words in each space, shape `(num_queries, dim)`."""
    known = {word for one in instances for word in words_of(one, "question")}
    known.update(word for one in passages for word in words_of(one, "passage"))
    for word in words:
        if word not in known:
            raise DataError(f"the word {word!r} is in none of the questions and passages")
    found: Dict[str, Dict[str, numpy.ndarray]] = {}
    for field_name, candidates in (("question", instances), ("passage", passages)):
        missing = set(words).difference(found)
        having = [one for one in candidates if not missing.isdisjoint(words_of(one, field_name))]
        for text, vectors in iterate_vectors(predictor, having, field_name) if having else ():
            for index, word in enumerate(words_of(having[text], field_name)):
                if word in missing:
                    sums = found.setdefault(word, dict.fromkeys(SPACES, numpy.zeros(())))
                    for space in SPACES:
                        sums[space] = sums[space] + vectors[space][index]
    queries = {}
    for space in SPACES:
        # Shape: (num_queries, dim)
        sums_of_space = numpy.stack([found[word][space] for word in words])
        queries[space] = sums_of_space / numpy.linalg.norm(sums_of_space, axis=1, keepdims=True)
    return queries


def neighbor_rows(neighborhoods: Sequence[Neighborhood]) -> Iterator[List[Any]]:
    """A row for each neighbour, after the names of the columns."""
    yield ["space", "query", "rank", "word", "cosine", "occurrences", "context"]
    for space, query, neighbors in neighborhoods:
        for rank, neighbor in enumerate(neighbors, start=1):
            yield [space, query, rank, neighbor.word, round(neighbor.cosine, 6), *neighbor[2:]]


def format_neighbors(neighborhoods: Sequence[Neighborhood]) -> str:
    """Table 2, in markdown."""
    rows = [
        [space, query, ", ".join(neighbor.word for neighbor in neighbors)]
        for space, query, neighbors in neighborhoods
    ]
    return markdown_table([["space", "query", "closest words of the passages"], *rows])

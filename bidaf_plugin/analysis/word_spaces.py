"""
The vectors of the words of many texts, in the two spaces that the paper looks into, and the words that are close to
each other there: Table 2 of [Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603).
"""

import random
from typing import Any, Collection, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy
import torch
from allennlp.common import Tqdm
from allennlp.data import Batch, Instance
from allennlp.nn import util

from bidaf_plugin.analysis.formats import markdown_table
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.samplers import BidafBucketSampler
from bidaf_plugin.data.tokenizers import Lexicon
from bidaf_plugin.nn.exact_match import mark_alone
from bidaf_plugin.predictors import SpanPredictor

# The names of the spaces: what the word embedding layer gives (with characters and highway network),
# and what the contextual layer gives.
SPACES = ("word", "contextual")
# The contextual space, with each occurrence of a word by itself.
OCCURRENCES = "contextual, each occurrence"
# Words with padding that are read together, at most.
_MAX_TOKENS = 8_000


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
    """What is closest to a word in one of `SPACES`, or among `OCCURRENCES`, the closest first."""

    space: str
    query: str
    neighbors: List[Neighbor]
    # The question with the occurrence that the word stands for; empty if it stands for all of them.
    question: str = ""


def iterate_vectors(
    predictor: SpanPredictor, instances: Sequence[Instance], field_name: str
) -> Iterator[Tuple[int, Dict[str, numpy.ndarray]]]:
    """
    Reads the "question" or the "passage" of each instance, long ones first, and gives its place in `instances`
    and for each of `SPACES` the vectors of its words, of length 1; shape `(num_words, dim)`. It holds the
    vectors of one batch at a time.
    """
    if not instances:
        return
    model, reader = predictor._model, predictor._dataset_reader
    # The sampler looks at these two fields.
    texts = [
        Instance(dict.fromkeys(("passage", "question"), instance[field_name]))
        for instance in instances
    ]
    sampler = BidafBucketSampler(_MAX_TOKENS, _MAX_TOKENS, shuffle=False)
    progress = Tqdm.tqdm(total=len(instances), desc=f"reading {field_name}s")
    for indices in sampler.get_batch_indices(texts):
        for index in indices:
            reader.apply_token_indexers(instances[index])
        batch = Batch([Instance({"text": texts[index]["passage"]}) for index in indices])
        batch.index_instances(model.vocab)
        tensors = util.move_to_device(batch.as_tensor_dict(), predictor.cuda_device)
        with torch.no_grad():
            (embedded,) = model.embed(mark_alone(tensors["text"]))
            encoded = model.contextualize(embedded)
        lengths = embedded.mask.sum(dim=1).tolist()
        spaces = [
            torch.nn.functional.normalize(vectors, dim=-1).cpu().numpy()
            for vectors in (embedded.vectors, encoded)
        ]
        for row, (index, length) in enumerate(zip(indices, lengths, strict=True)):
            of_text = (vectors[row, :length] for vectors in spaces)
            yield index, dict(zip(SPACES, of_text, strict=True))
        progress.update(len(indices))
    progress.close()


def one_per_passage(instances: Sequence[Instance]) -> List[Instance]:
    """One instance for each passage."""
    return list({id(instance["passage"]): instance for instance in instances}.values())


def words_of(instance: Instance, field_name: str) -> List[str]:
    return [token.text for token in instance[field_name].tokens]


def context_of(words: Sequence[str], index: int, width: int = 5) -> str:
    """A word with its neighbours, for people to read."""
    return " ".join(words[max(index - width, 0) : index + width + 1])


def find_neighbors(
    predictor: SpanPredictor,
    instances: Sequence[Instance],
    words: Sequence[str],
    k: int = 10,
    occurrence_seed: Optional[int] = None,
) -> List[Neighborhood]:
    """
    For some query words the `k` closest words of the passages, by cosine, in each of `SPACES`.

    A query word stands for the mean of all of its occurrences in the questions (in the passages if it is
    in no question), each taken with length 1. A word of the passages is as close as the closest of its
    occurrences. Words are cased: "May" is not "may". Of the vectors of all occurrences only the cosines with the
    query words are kept.

    With an `occurrence_seed` a query word stands for one occurrence, drawn with it, and there are the closest
    `OCCURRENCES` too, among which a word can be several times, as in the paper's table.
    """
    passages = one_per_passage(instances)
    queries, questions = _find_query_vectors(predictor, instances, passages, words, occurrence_seed)
    lexicon = Lexicon()
    texts = [lexicon.numbers(words_of(passage, "passage")) for passage in passages]
    cosines: Dict[str, List[Any]] = {space: [None] * len(passages) for space in SPACES}
    for passage, vectors in iterate_vectors(predictor, passages, "passage"):
        for space in SPACES:
            # Shape: (num_words_of_passage, num_queries)
            cosines[space][passage] = vectors[space] @ queries[space].T
    # Of each occurrence of a word in the passages, which word it is, in which passage, and where.
    numbers = numpy.concatenate(texts)
    places = [(passage, index) for passage, text in enumerate(texts) for index in range(len(text))]
    counts = numpy.bincount(numbers)

    def make_neighbors(space: str, column: int) -> Iterator[Neighbor]:
        # Shape: (num_occurrences,)
        of_space = cosines["contextual" if space == OCCURRENCES else space]
        of_query = numpy.concatenate([of_passage[:, column] for of_passage in of_space])
        order = numpy.argsort(-of_query, kind="stable")
        if space in SPACES:
            # Where each word comes for the first time, with the closest of its occurrences.
            _, firsts = numpy.unique(numbers[order], return_index=True)
            order = order[numpy.sort(firsts)]
        for row in order[:k]:
            (passage, index), number = places[row], numbers[row]
            context = context_of(words_of(passages[passage], "passage"), index)
            yield Neighbor(
                lexicon.words[number], float(of_query[row]), int(counts[number]), context
            )

    return [
        Neighborhood(space, query, list(make_neighbors(space, column)), questions.get(query, ""))
        for column, query in enumerate(words)
        for space in (SPACES if occurrence_seed is None else (*SPACES, OCCURRENCES))
    ]


def _find_query_vectors(
    predictor: SpanPredictor,
    instances: Sequence[Instance],
    passages: Sequence[Instance],
    words: Sequence[str],
    occurrence_seed: Optional[int],
) -> Tuple[Dict[str, numpy.ndarray], Dict[str, str]]:
    """
    The vectors of the query words in each space, shape `(num_queries, dim)`, and of those that stand for one
    occurrence the text in which it is.
    """
    asked = {word for one in instances for word in words_of(one, "question")}
    known = asked.union(word for one in passages for word in words_of(one, "passage"))
    for word in words:
        if word not in known:
            raise DataError(f"the word {word!r} is in none of the questions and passages")
    sums: Dict[Tuple[str, str], Any] = {}
    texts: Dict[str, str] = {}
    for field_name, candidates, wanted in (
        ("question", instances, asked.intersection(words)),
        ("passage", passages, set(words) - asked),
    ):
        # Of each text the words that count, and where.
        places: Dict[int, List[Tuple[str, int]]] = {}
        for word, of_word in _find_places(candidates, field_name, wanted).items():
            if occurrence_seed is not None:
                of_word = [random.Random(occurrence_seed).choice(of_word)]
                ((text, index),) = of_word
                texts[word] = context_of(words_of(candidates[text], field_name), index, width=30)
            for text, index in of_word:
                places.setdefault(text, []).append((word, index))
        rows = list(places)
        having = [candidates[text] for text in rows]
        for row, vectors in iterate_vectors(predictor, having, field_name):
            for word, index in places[rows[row]]:
                for space in SPACES:
                    sums[space, word] = sums.get((space, word), 0) + vectors[space][index]
    # Shape: (num_queries, dim)
    queries = {space: numpy.stack([sums[space, word] for word in words]) for space in SPACES}
    normalized = {
        space: vectors / numpy.linalg.norm(vectors, axis=1, keepdims=True)
        for space, vectors in queries.items()
    }
    return normalized, texts


def _find_places(
    candidates: Sequence[Instance], field_name: str, wanted: Collection[str]
) -> Dict[str, List[Tuple[int, int]]]:
    """Where the words are: in which text, and at which place in it."""
    places: Dict[str, List[Tuple[int, int]]] = {}
    for text, one in enumerate(candidates):
        for index, word in enumerate(words_of(one, field_name)):
            if word in wanted:
                places.setdefault(word, []).append((text, index))
    return places


def neighbor_rows(neighborhoods: Sequence[Neighborhood]) -> Iterator[List[Any]]:
    """A row for each neighbour, after the names of the columns."""
    yield ["space", "query", "rank", "word", "cosine", "occurrences", "context"]
    for space, query, neighbors, _ in neighborhoods:
        for rank, neighbor in enumerate(neighbors, start=1):
            yield [space, query, rank, neighbor.word, round(neighbor.cosine, 6), *neighbor[2:]]


def format_neighbors(neighborhoods: Sequence[Neighborhood]) -> str:
    """Table 2, in markdown, with the questions that single occurrences were taken from."""
    rows = [
        [space, query, ", ".join(neighbor.word for neighbor in neighbors)]
        for space, query, neighbors, _ in neighborhoods
    ]
    table = markdown_table([["space", "query", "closest words of the passages"], *rows])
    questions = {query: question for _, query, _, question in neighborhoods if question}
    if questions:
        table += "\n" + markdown_table([["query", "as it stands in"], *questions.items()])
    return table

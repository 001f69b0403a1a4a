from typing import Any, Dict, List, Sequence

import numpy
import pytest
import torch
from allennlp.data import Instance

from bidaf_plugin.analysis import word_spaces
from bidaf_plugin.analysis.word_spaces import (
    SPACES,
    Neighbor,
    Neighborhood,
    find_neighbors,
    format_neighbors,
    neighbor_rows,
)
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.predictors import SpanPredictor
from tests.analysis.attention_helpers import tiny_predictor
from tests.helpers import TINY_SQUAD


def read(predictor: SpanPredictor) -> List[Instance]:
    return list(predictor._dataset_reader.read(str(TINY_SQUAD)))


def vectors_by_word(
    predictor: SpanPredictor, instances: Sequence[Instance], name: str
) -> Dict[str, Dict[str, List[numpy.ndarray]]]:
    """All unit vectors of all words in each space, one text at a time."""
    found: Dict[str, Dict[str, List[numpy.ndarray]]] = {space: {} for space in SPACES}
    for instance in instances:
        predictor._dataset_reader.apply_token_indexers(instance)
        field: Any = instance[name]
        field.index(predictor._model.vocab)
        tensors = field.batch_tensors([field.as_tensor(field.get_padding_lengths())])
        with torch.no_grad():
            (embedded,) = predictor._model.embed(tensors)
            layers = embedded.vectors, predictor._model.contextualize(embedded)
        for space, layer in zip(SPACES, layers, strict=True):
            for token, vector in zip(field.tokens, layer[0].numpy(), strict=True):
                unit = vector / numpy.linalg.norm(vector)
                found[space].setdefault(token.text, []).append(unit)
    return found


class TestFindNeighbors:
    @pytest.mark.parametrize("query, source", [("the", "question"), ("1901", "passage")])
    def test_cosines_are_those_of_all_occurrences(self, query: str, source: str) -> None:
        predictor = tiny_predictor()
        instances = read(predictor)
        # The first, the fourth and the fifth question have the three passages.
        passages = [instances[index] for index in (0, 3, 4)]
        of_query = instances if source == "question" else passages
        queries = vectors_by_word(predictor, of_query, source)
        candidates = vectors_by_word(predictor, passages, "passage")
        for space, name, neighbors, _ in find_neighbors(predictor, instances, [query], 5):
            mean = numpy.sum(queries[space][query], axis=0)
            mean /= numpy.linalg.norm(mean)
            closest = {
                word: max(float(vector @ mean) for vector in vectors)
                for word, vectors in candidates[space].items()
            }
            assert name == query
            expected = sorted(closest.values(), reverse=True)[:5]
            assert [n.cosine for n in neighbors] == pytest.approx(expected, abs=1e-5)
            for neighbor in neighbors:
                assert neighbor.cosine == pytest.approx(closest[neighbor.word], abs=1e-5)
                assert neighbor.num_occurrences == len(candidates[space][neighbor.word])
                assert neighbor.word in neighbor.context.split()

    def test_a_single_occurrence_has_occurrences_as_neighbours(self) -> None:
        predictor = tiny_predictor()
        instances = read(predictor)
        passages = [instances[index] for index in (0, 3, 4)]
        queries = vectors_by_word(predictor, instances, "question")
        candidates = vectors_by_word(predictor, passages, "passage")
        seen = set()
        for seed in range(8):
            word, contextual, occurrences = find_neighbors(predictor, instances, ["the"], 30, seed)
            assert [n.word for n in occurrences.neighbors][0] == contextual.neighbors[0].word
            for neighborhood in (word, contextual):
                words = [neighbor.word for neighbor in neighborhood.neighbors]
                assert len(set(words)) == len(words) == 30
            # One of the occurrences in the questions, and each occurrence in the passages by itself.
            cosines = [neighbor.cosine for neighbor in occurrences.neighbors]
            possible = [
                sorted(
                    (
                        float(v @ query)
                        for found in candidates["contextual"].values()
                        for v in found
                    ),
                    reverse=True,
                )[:30]
                for query in queries["contextual"]["the"]
            ]
            assert any(numpy.allclose(cosines, expected, atol=1e-5) for expected in possible)
            words = [neighbor.word for neighbor in occurrences.neighbors]
            assert len(set(words)) < len(words)
            assert "the" in contextual.question.split() and word.question == contextual.question
            seen.add(contextual.question)
        assert len(seen) > 1

    def test_in_the_word_space_a_word_is_its_own_neighbour(self) -> None:
        predictor = tiny_predictor()
        words = ["orchard", "light"]
        neighborhoods = find_neighbors(predictor, read(predictor), words, 2)
        assert [(n.space, n.query) for n in neighborhoods] == [
            (space, word) for word in words for space in SPACES
        ]
        for neighborhood in neighborhoods[::2]:
            assert neighborhood.neighbors[0].word == neighborhood.query
            assert neighborhood.neighbors[0].cosine == pytest.approx(1.0, abs=1e-5)

    def test_an_unknown_word_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        predictor = tiny_predictor()
        # Before the network reads anything.
        monkeypatch.setattr(word_spaces, "iterate_vectors", None)
        with pytest.raises(DataError, match="'Zzz' is in none of"):
            find_neighbors(predictor, read(predictor), ["the", "Zzz"])


class TestTables:
    neighborhoods = [
        Neighborhood(
            "word", "When", [Neighbor("when", 0.75, 3, "so when"), Neighbor("|", 0.5, 1, "|")]
        )
    ]

    def test_markdown(self) -> None:
        assert format_neighbors(self.neighborhoods).splitlines()[2] == r"| word | When | when, \| |"

    def test_questions_of_single_occurrences_are_named(self) -> None:
        (neighborhood,) = self.neighborhoods
        table = format_neighbors([neighborhood._replace(question="When was it ?")])
        assert table.splitlines()[-1] == "| When | When was it ? |"

    def test_rows(self) -> None:
        header, first, second = neighbor_rows(self.neighborhoods)
        assert first == ["word", "When", 1, "when", 0.75, 3, "so when"]
        assert second[2:4] == [2, "|"]
        assert len(header) == len(first)

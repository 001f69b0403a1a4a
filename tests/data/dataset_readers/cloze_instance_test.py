import random
import re
from typing import Dict, List, Optional

import numpy
import pytest
import torch
from allennlp.data import Batch, Instance, Vocabulary

from bidaf_plugin.data.dataset_readers import BidafClozeReader, cloze_instance
from bidaf_plugin.data.dataset_readers.cloze_instance import (
    WordTokens,
    find_windows,
    number_entities,
)
from bidaf_plugin.data.token_indexers import ClozeWordsIndexer, WordCharactersIndexer
from tests.cloze_helpers import TINY_CLOZE, read, window_words
from tests.helpers import as_tensors


class TestClozeInstance:
    @pytest.fixture
    def instances(self) -> List[Instance]:
        return read(TINY_CLOZE)

    def test_question_and_passage_get_the_same_names(self, instances: List[Instance]) -> None:
        vocab = Vocabulary.from_instances(instances)
        for _ in range(5):
            tensors = as_tensors(instances, vocab)
            for index, instance in enumerate(instances):
                name_of: Dict[str, str] = {}
                metadata = instance["metadata"].metadata
                words = [metadata["question"].split(), *window_words(instance)]
                rows = [
                    tensors["question"]["tokens"]["tokens"][index],
                    *tensors["passage"]["tokens"]["tokens"][index],
                ]
                # Rows are longer by their padding, and there are more of them.
                pairs = [
                    pair
                    for line, row in zip(words, rows, strict=False)
                    for pair in zip(line, row.tolist(), strict=False)
                ]
                for word, vocab_index in pairs:
                    entry = vocab.get_token_from_index(vocab_index)
                    if re.fullmatch(r"@entity\d+", word):
                        assert re.fullmatch(r"@@ENTITY\d+@@", entry)
                        assert name_of.setdefault(word, entry) == entry
                    elif word == "@placeholder":
                        assert entry == "@@PLACEHOLDER@@"
                    else:
                        assert entry == word.lower()
                assert len(set(name_of.values())) == len(name_of)

    def test_names_come_from_the_whole_range_and_change(self, instances: List[Instance]) -> None:
        vocab = Vocabulary.from_instances(instances)
        seen = set()
        for _ in range(100):
            words = as_tensors(instances[:1], vocab)["passage"]["tokens"]["tokens"]
            entities = words[words <= vocab.get_token_index("@@ENTITY599@@")]
            seen |= set(entities[entities > 1].tolist())
        # 4 of 600 in each of 100 draws: about 292 different ones.
        assert len(seen) > 200

    def test_a_seed_fixes_the_names_of_each_question(self) -> None:
        vocab = Vocabulary.from_instances(read(TINY_CLOZE))

        def words(seed: int) -> torch.Tensor:
            tensors = as_tensors(read(TINY_CLOZE, seed=seed), vocab)
            return tensors["passage"]["tokens"]["tokens"]

        random.seed(1)
        first = words(5)
        random.seed(2)
        assert torch.equal(first, words(5))
        assert not torch.equal(first, words(6))

    def test_random_seeds_fix_all_names(self, instances: List[Instance]) -> None:
        vocab = Vocabulary.from_instances(instances)
        drawn = []
        for seed in (1, 2, 1):
            random.seed(seed)
            drawn.append(as_tensors(instances, vocab)["passage"]["tokens"]["tokens"])
        assert torch.equal(drawn[0], drawn[2])
        assert not torch.equal(drawn[0], drawn[1])

    def test_characters_do_not_tell_entities_apart(self) -> None:
        indexers = {"tokens": ClozeWordsIndexer(), "chars": WordCharactersIndexer()}
        instances = read(TINY_CLOZE, token_indexers=indexers)
        tensors = as_tensors(instances, Vocabulary.from_instances(instances))
        is_entity = tensors["entity_ids"] >= 0
        characters = tensors["passage"]["chars"]["token_characters"][is_entity]
        assert len(characters) > 50
        assert (characters == characters[0]).all()

    def test_more_entities_than_names(self) -> None:
        reader = BidafClozeReader(token_indexers={"tokens": ClozeWordsIndexer(num_entities=3)})
        (instance,) = (i for i in reader.read(str(TINY_CLOZE)) if i["metadata"]["id"] == "tiny-1")
        vocab = Vocabulary.from_instances([instance])
        tensors = as_tensors([instance], vocab)
        is_entity = tensors["entity_ids"] >= 0
        entries = {
            vocab.get_token_from_index(int(index))
            for index in tensors["passage"]["tokens"]["tokens"][is_entity]
        }
        assert entries == {"@@ENTITY0@@", "@@ENTITY1@@", "@@ENTITY2@@"}
        assert tensors["entity_ids"].max() == 3

    def test_a_duplicate_is_renamed_too(self, instances: List[Instance]) -> None:
        vocab = Vocabulary.from_instances(instances)
        Batch(instances).index_instances(vocab)
        copied = instances[0].duplicate()
        assert copied.indexed
        random.seed(3)
        original = instances[0].as_tensor_dict()["passage"]["tokens"]["tokens"]
        random.seed(3)
        assert torch.equal(copied.as_tensor_dict()["passage"]["tokens"]["tokens"], original)


class TestText:
    def test_number_entities(self) -> None:
        number_of: Dict[str, int] = {}
        words = ["@entity7", "saw", "@entity2", "and", "@entity7", "@", "@entity2x"]
        assert number_entities(words, number_of).tolist() == [0, -1, 1, -1, 0, -1, -1]
        assert number_of == {"@entity7": 0, "@entity2": 1}
        assert number_entities(["@entity1", "@entity2"], number_of).tolist() == [2, 1]
        # Words without names of entities do not depend on how these were called.
        renamed = ["@entity2", "saw", "@entity5", "and", "@entity2", "@", "@entity2x"]
        number_entities(renamed, {})
        assert renamed == words

    @pytest.mark.parametrize(
        "window, expected",
        [
            (1, [[0, 1], [4, 5], [9, 10]]),
            (5, [[0, 3], [2, 7], [7, 10]]),
            (19, [[0, 10], [0, 10], [0, 10]]),
            (None, [[0, 10]]),
        ],
    )
    def test_find_windows(self, window: Optional[int], expected: List[List[int]]) -> None:
        assert find_windows(numpy.array([0, 4, 9]), 10, window).tolist() == expected

    def test_no_entities_have_no_windows(self) -> None:
        assert find_windows(numpy.array([], dtype=numpy.int64), 10, 19).shape == (0, 2)

    def test_tokens(self) -> None:
        words = ["@entity7", "Saw", "@entity2", "@@ENTITY0@@", "@placeholder"]
        number_entities(words, {})
        table = WordTokens()
        tokens = [table[word] for word in words]
        assert [token.text for token in tokens] == [
            "@entity", "saw", "@entity", "@@entity0@@", "@placeholder",
        ]  # fmt: skip
        assert [token.ent_type_ for token in tokens] == [
            "@@ENTITY0@@", None, "@@ENTITY1@@", None, "@@PLACEHOLDER@@",
        ]  # fmt: skip
        assert table[words[1]] is tokens[1]

    def test_very_long_words_are_not_remembered(self) -> None:
        table = WordTokens()
        assert table["X" * 100].text == table["X" * 1_000_000].text == "x" * 100
        assert list(table) == ["X" * 100]

    def test_the_memory_of_words_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cloze_instance, "_MAX_CACHED_WORDS", 3)
        tokens = WordTokens()
        assert [tokens[word].text for word in "abcdeabcde"] == list("abcdeabcde")
        assert len(tokens) <= 3

from collections import defaultdict
from copy import deepcopy
from typing import Dict, List, Optional, Tuple

import numpy
import torch
from allennlp.data import Batch, Instance, Token, TokenIndexer, Vocabulary
from allennlp.data.fields import ListField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer, TokenCharactersIndexer

from bidaf_plugin.data.fields.windowed_text_field import WindowedTextField
from bidaf_plugin.data.token_indexers import WordCharactersIndexer

INDEXERS: Dict[str, TokenIndexer] = {
    "tokens": SingleIdTokenIndexer(),
    "characters": TokenCharactersIndexer(min_padding_length=3),
    "word_characters": WordCharactersIndexer(),
}
TEXTS = [
    (["one", "two", "one", "four", "two"], [(0, 2), (1, 5), (4, 5)]),
    (["a", "longer", "text", "of", "six", "words", "indeed"], [(2, 6)]),
    (["lonely"], [(0, 1), (0, 1)]),
]


def windowed_field(
    words: List[str], windows: List[Tuple[int, int]], indexers: Optional[Dict[str, TokenIndexer]]
) -> WindowedTextField:
    return WindowedTextField(
        words,
        {word: Token(word) for word in words},
        numpy.array(windows, dtype=numpy.int64).reshape(-1, 2),
        indexers,
    )


class TestWindowedTextField:
    def test_tensors_are_those_of_a_list_of_text_fields(self) -> None:
        windowed, listed = [], []
        for words, windows in TEXTS:
            windowed.append(Instance({"text": windowed_field(words, windows, INDEXERS)}))
            tokens = [Token(word) for word in words]
            texts = [TextField(tokens[start:end], INDEXERS) for start, end in windows]
            listed.append(Instance({"text": ListField(texts)}))
        vocab = Vocabulary.from_instances(windowed)
        batches = []
        for instances in (windowed, listed):
            batch = Batch(instances)
            batch.index_instances(vocab)
            batches.append(batch.as_tensor_dict()["text"])
        assert batches[0]["tokens"]["tokens"].shape == (3, 3, 4)
        for indexer_name, by_name in batches[1].items():
            for name, expected in by_name.items():
                found = batches[0][indexer_name][name]
                # Characters are padded to the longest word of the text, not of the windows.
                assert torch.equal(found[..., : expected.size(-1)], expected)
                assert not found[..., expected.size(-1) :].any() or indexer_name == "characters"

    def test_characters_are_not_kept(self) -> None:
        field = windowed_field(["one", "two"] * 100, [(0, 19)], INDEXERS)
        field.index(Vocabulary())
        kept = field._distinct_words._indexed_tokens
        assert kept is not None
        # Those of AllenNLP's own indexers have no table to be taken from.
        assert sorted(kept) == ["characters", "tokens"]

    def test_no_windows_are_one_window_of_padding(self) -> None:
        field = windowed_field(["word"], [], {"tokens": SingleIdTokenIndexer()})
        field.index(Vocabulary(counter={"tokens": {"word": 1}}))
        assert (field.num_windows, field.window_length) == (1, 1)
        lengths = field.get_padding_lengths()
        assert field.as_tensor(lengths)["tokens"]["tokens"].tolist() == [[0]]
        assert field.word_positions().tolist() == [[-1]]

    def test_word_positions(self) -> None:
        field = windowed_field(["w"] * 5, [(0, 2), (1, 5)], None)
        assert field.word_positions().tolist() == [[0, 1, -1, -1], [1, 2, 3, 4]]
        assert field.word_positions(3, 5).tolist()[2] == [-1] * 5

    def test_copies_and_empty_fields(self) -> None:
        field = windowed_field(["w"] * 3, [(0, 2)], {"tokens": SingleIdTokenIndexer()})
        field.index(Vocabulary(counter={"tokens": {"w": 1}}))
        lengths = field.get_padding_lengths()
        tensor = field.as_tensor(lengths)["tokens"]["tokens"]
        for copied in (field.duplicate(), deepcopy(field)):
            assert torch.equal(copied.as_tensor(lengths)["tokens"]["tokens"], tensor)
        assert field.empty_field().as_tensor(lengths)["tokens"]["tokens"].tolist() == [[0, 0]]

    def test_counts_are_those_of_the_whole_text(self) -> None:
        words = ["a", "b", "a", "cc", "a", "cc"]
        plain = TextField([Token(word) for word in words], INDEXERS)
        counts: List[Dict[str, Dict[str, int]]] = []
        for field in (plain, windowed_field(words, [], INDEXERS)):
            counter: Dict[str, Dict[str, int]] = defaultdict(lambda: defaultdict(int))
            field.count_vocab_items(counter)
            counts.append(counter)
        assert counts[0] == counts[1]
        assert counts[0]["tokens"] == {"a": 3, "b": 1, "cc": 2}

    def test_the_text_is_there(self) -> None:
        field = windowed_field(["a", "b", "a"], [], None)
        assert field.word_numbers.tolist() == [0, 1, 0]
        assert [token.text for token in field.tokens] == ["a", "b", "a"]
        assert len(field) == 3
        assert field.human_readable_repr() == ["a", "b", "a"]

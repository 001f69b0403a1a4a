from copy import deepcopy

import torch
from allennlp.data import Batch, Instance, Token, Vocabulary
from allennlp.data.fields import ListField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer, TokenCharactersIndexer

from bidaf_plugin.fields.windowed_text_field import WindowedTextField
from bidaf_plugin.token_indexers import WordCharactersIndexer

INDEXERS = {
    "tokens": SingleIdTokenIndexer(),
    "characters": TokenCharactersIndexer(min_padding_length=3),
    "word_characters": WordCharactersIndexer(),
}
TEXTS = [
    (["one", "two", "three", "four", "five"], [(0, 2), (1, 5), (4, 5)]),
    (["a", "longer", "text", "of", "six", "words", "indeed"], [(2, 6)]),
    (["lonely"], [(0, 1), (0, 1)]),
]


class TestWindowedTextField:
    def test_tensors_are_those_of_a_list_of_text_fields(self) -> None:
        windowed, listed = [], []
        for words, windows in TEXTS:
            tokens = [Token(word) for word in words]
            windowed.append(Instance({"text": WindowedTextField(tokens, windows, INDEXERS)}))
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

    def test_no_windows_are_one_window_of_padding(self) -> None:
        field = WindowedTextField([Token("word")], [], {"tokens": SingleIdTokenIndexer()})
        field.index(Vocabulary(counter={"tokens": {"word": 1}}))
        assert (field.num_windows, field.window_length) == (1, 1)
        lengths = field.get_padding_lengths()
        assert field.as_tensor(lengths)["tokens"]["tokens"].tolist() == [[0]]
        assert field.word_positions().tolist() == [[-1]]

    def test_word_positions(self) -> None:
        field = WindowedTextField([Token("w")] * 5, [(0, 2), (1, 5)])
        assert field.word_positions().tolist() == [[0, 1, -1, -1], [1, 2, 3, 4]]
        assert field.word_positions(3, 5).tolist()[2] == [-1] * 5

    def test_copies_and_empty_fields(self) -> None:
        field = WindowedTextField([Token("w")] * 3, [(0, 2)], {"tokens": SingleIdTokenIndexer()})
        field.index(Vocabulary(counter={"tokens": {"w": 1}}))
        lengths = field.get_padding_lengths()
        tensor = field.as_tensor(lengths)["tokens"]["tokens"]
        for copied in (field.duplicate(), deepcopy(field)):
            assert torch.equal(copied.as_tensor(lengths)["tokens"]["tokens"], tensor)
        assert field.empty_field().as_tensor(lengths)["tokens"]["tokens"].tolist() == [[0, 0]]

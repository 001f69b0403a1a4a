from collections import defaultdict
from typing import Dict

from allennlp.data import Token, Vocabulary
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer

from bidaf_plugin.data.fields import SharedTextField


class CountingIndexer(SingleIdTokenIndexer):
    num_calls = 0

    def tokens_to_indices(self, tokens, vocabulary):  # type: ignore[no-untyped-def]
        CountingIndexer.num_calls += 1
        return super().tokens_to_indices(tokens, vocabulary)


class TestSharedTextField:
    def setup_method(self) -> None:
        CountingIndexer.num_calls = 0
        self.indexers = {"tokens": CountingIndexer()}
        self.tokens = [Token(word) for word in ["a", "rose", "is", "a", "rose"]]

    def test_counts_once_per_holder_like_a_text_field(self) -> None:
        shared = SharedTextField(self.tokens, self.indexers)
        other = SharedTextField([Token("is")], self.indexers)
        plain = TextField(self.tokens, self.indexers)
        counts: Dict[str, Dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for field in (shared, shared, other, shared):
            field.count_vocab_items(counts)
        expected: Dict[str, Dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for field in (plain, plain, other, plain):
            field.count_vocab_items(expected)
        assert counts == expected
        assert counts["tokens"]["rose"] == 3 * 2

    def test_is_indexed_once_for_a_vocabulary(self) -> None:
        field = SharedTextField(self.tokens, self.indexers)
        vocab = Vocabulary(counter={"tokens": {"rose": 1}})
        field.index(vocab)
        field.index(vocab)
        assert CountingIndexer.num_calls == 1
        field.index(Vocabulary(counter={"tokens": {"is": 1, "rose": 1}}))
        assert CountingIndexer.num_calls == 2

from collections import defaultdict
from typing import Dict

import pytest
from allennlp.data import Token, Vocabulary
from allennlp.data.token_indexers import SingleIdTokenIndexer

from bidaf_plugin.data.token_indexers import WordIdIndexer
from bidaf_plugin.data.tokenizers import PtbTokenizer

TEXT = "The cat saw the dog; THE END of the cat."


@pytest.mark.parametrize("lowercase", [True, False])
class TestWordIdIndexer:
    def test_counts_and_indexes_like_single_id(self, lowercase: bool) -> None:
        tokens = PtbTokenizer().tokenize(TEXT)
        plain = SingleIdTokenIndexer(lowercase_tokens=lowercase)
        indexer = WordIdIndexer(lowercase_tokens=lowercase)
        expected: Dict[str, Dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for token in tokens:
            plain.count_vocab_items(token, expected)
        counter: Dict[str, Dict[str, int]] = defaultdict(lambda: defaultdict(int))
        indexer.count_words([token.text for token in tokens], counter)
        # The order decides how words of equal count are numbered.
        assert list(counter["tokens"].items()) == list(expected["tokens"].items())

        vocab = Vocabulary(counter=counter, min_count={"tokens": 2})
        indices = plain.tokens_to_indices(tokens, vocab)
        compact_tokens = PtbTokenizer().batch_tokenize([TEXT])[0]
        for sequence in (tokens, compact_tokens):
            found = indexer.tokens_to_indices(sequence, vocab)
            assert found["tokens"].tolist() == indices["tokens"]
            for length in (len(tokens) + 2, 3):
                assert (
                    indexer.as_padded_tensor_dict(found, {"tokens": length})["tokens"].tolist()
                    == plain.as_padded_tensor_dict(indices, {"tokens": length})["tokens"].tolist()
                )

    def test_knows_new_words_and_other_vocabularies(self, lowercase: bool) -> None:
        tokenizer, indexer = PtbTokenizer(), WordIdIndexer(lowercase_tokens=lowercase)
        first = Vocabulary(counter={"tokens": {"cat": 1, "dog": 1}})
        second = Vocabulary(counter={"tokens": {"dog": 2, "cat": 1, "bird": 1}})
        # The lexicon of the tokenizer grows with every text.
        for text in ["cat", "cat dog", "bird cat worm", "dog bird cat"]:
            for vocab in (first, second, first):
                (tokens,) = tokenizer.batch_tokenize([text])
                assert indexer.tokens_to_indices(tokens, vocab)["tokens"].tolist() == [
                    vocab.get_token_index(word) for word in text.split()
                ]

    def test_its_memory_of_words_is_bounded(
        self, lowercase: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("bidaf_plugin.data.token_indexers.word_indexer._MAX_WORDS", 3)
        indexer = WordIdIndexer(lowercase_tokens=lowercase)
        vocab = Vocabulary(counter={"tokens": {"b": 1}})
        for text in ["a b", "b c", "d e", "b"]:
            found = indexer.tokens_to_indices([Token(word) for word in text.split()], vocab)
            assert found["tokens"].tolist() == [vocab.get_token_index(w) for w in text.split()]
        assert len(indexer._lexicon) <= 4

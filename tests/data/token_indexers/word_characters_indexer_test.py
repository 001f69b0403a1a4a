from collections import defaultdict
from typing import Dict

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token, Vocabulary
from allennlp.data.token_indexers import TokenCharactersIndexer

from bidaf_plugin.data.token_indexers import WordCharactersIndexer


class TestWordCharactersIndexer:
    def setup_method(self) -> None:
        self.vocab = Vocabulary(counter={"token_characters": {"a": 3, "b": 2, "c": 1}})
        self.indexer = WordCharactersIndexer(max_word_length=4)

    def test_words_have_a_length(self) -> None:
        with pytest.raises(ConfigurationError, match="max_word_length must be 1 or more, not 0"):
            WordCharactersIndexer(max_word_length=0)

    def test_counts_the_characters_that_are_read(self) -> None:
        counter: Dict[str, Dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self.indexer.count_vocab_items(Token("aabbcc"), counter)
        assert dict(counter["token_characters"]) == {"a": 2, "b": 2}

    def test_words_are_cut_and_padded_to_the_fixed_width(self) -> None:
        indices = {c: self.vocab.get_token_index(c, "token_characters") for c in "abcx"}
        indexed = self.indexer.tokens_to_indices([Token("ab"), Token("caabx")], self.vocab)
        tensors = self.indexer.as_padded_tensor_dict(indexed, {"token_characters": 3})
        assert tensors["token_characters"].tolist() == [
            [indices["a"], indices["b"], 0, 0],
            [indices["c"], indices["a"], indices["a"], indices["b"]],
            [0, 0, 0, 0],
        ]
        assert indices["x"] == self.vocab.get_token_index("@@UNKNOWN@@", "token_characters")

    def test_rows_are_renewed_when_the_vocabulary_grows(self) -> None:
        (first,) = self.indexer.tokens_to_indices([Token("ax")], self.vocab)["token_characters"]
        new_index = self.vocab.add_token_to_namespace("x", "token_characters")
        (renewed,) = self.indexer.tokens_to_indices([Token("ax")], self.vocab)["token_characters"]
        assert renewed[1] == new_index != first[1]

    def test_gives_what_allennlp_s_character_indexer_gives(self) -> None:
        text = "abc cab? 日本 😀a x\0y \0"
        tokens = [Token(word) for word in text.split(" ")]
        vocab = Vocabulary(counter={"token_characters": dict.fromkeys("ab日😀\x00", 1)})
        plain = TokenCharactersIndexer(min_padding_length=4)
        expected = plain.tokens_to_indices(tokens, vocab)
        lengths = {"token_characters": 7, "num_token_characters": 4}
        assert torch.equal(
            self.indexer.as_padded_tensor_dict(
                self.indexer.tokens_to_indices(tokens, vocab), {"token_characters": 7}
            )["token_characters"],
            plain.as_padded_tensor_dict(expected, lengths)["token_characters"],
        )

    def test_an_empty_text_is_padding(self) -> None:
        tensors = self.indexer.as_padded_tensor_dict(
            self.indexer.get_empty_token_list(), {"token_characters": 2}
        )
        assert tensors["token_characters"].tolist() == [[0] * 4, [0] * 4]

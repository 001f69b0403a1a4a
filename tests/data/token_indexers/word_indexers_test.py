import time
from collections import defaultdict
from typing import Dict, List, Sequence

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token, Vocabulary
from allennlp.data.token_indexers import SingleIdTokenIndexer, TokenCharactersIndexer

from bidaf_plugin.data.token_indexers import (
    WordCharactersIndexer,
    WordFormsIndexer,
    WordIdIndexer,
    word_indexer,
)
from bidaf_plugin.data.tokenizers import Lexicon, PtbTokenizer
from tests.thread_helpers import run_together

WORDS = [f"word{number}" for number in range(400)]


class SlowIndexer(WordIdIndexer):
    """Lets another thread go on while it makes rows."""

    def _make_rows(self, words: Sequence[str], vocabulary: Vocabulary) -> numpy.ndarray:
        time.sleep(0)
        return super()._make_rows(words, vocabulary)


class TestWordIndexer:
    def test_threads_find_the_rows_of_their_words(self) -> None:
        vocab = Vocabulary(counter={"tokens": dict.fromkeys(WORDS, 1)})
        lexicon, indexer = Lexicon(), SlowIndexer()

        def index(thread: int) -> List[int]:
            # Each meets the words in another order.
            ordered = WORDS[100 * thread :] + WORDS[: 100 * thread]
            found = {}
            for word in ordered:
                (number,) = lexicon.numbers([word])
                found[word] = int(indexer.table(lexicon, vocab)[number])
            return [found[word] for word in WORDS]

        expected = [vocab.get_token_index(word) for word in WORDS]
        assert run_together(index, 4) == [expected] * 4


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
        monkeypatch.setattr(word_indexer, "_MAX_WORDS", 3)
        indexer = WordIdIndexer(lowercase_tokens=lowercase)
        vocab = Vocabulary(counter={"tokens": {"b": 1}})
        for text in ["a b", "b c", "d e", "b"]:
            found = indexer.tokens_to_indices([Token(word) for word in text.split()], vocab)
            assert found["tokens"].tolist() == [vocab.get_token_index(w) for w in text.split()]
        assert len(indexer._lexicon) <= 4


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


def numbers(word: str) -> list[int]:
    indexed = WordFormsIndexer().tokens_to_indices([Token(word)], Vocabulary())
    return indexed["tokens"][0].tolist()


class TestWordFormsIndexer:
    @pytest.mark.parametrize(
        "one, other, same",
        [
            ("Orchard", "Orchard", [True, True, True]),
            ("Orchard", "orchard", [False, True, True]),
            ("planted", "Planting", [False, False, True]),
            ("studies", "study", [False, False, True]),
            # Three letters are left at least.
            ("bed", "b", [False, False, False]),
            ("cat", "dog", [False, False, False]),
        ],
    )
    def test_words_are_compared_as_they_are_in_lower_case_and_without_ending(
        self, one: str, other: str, same: list[bool]
    ) -> None:
        assert [a == b for a, b in zip(numbers(one), numbers(other), strict=True)] == same

    def test_the_numbers_are_the_same_everywhere_and_never_padding(self) -> None:
        # The checksum of "cat" is 0x9e5e43a8.
        assert numbers("cat") == [0x9E5E43A8 >> 1] * 3
        assert all(number > 0 for word in ("", "\ud800", "é") for number in numbers(word))

    def test_padding_is_zero(self) -> None:
        indexer = WordFormsIndexer()
        for tokens in (
            PtbTokenizer().tokenize("a cat"),
            PtbTokenizer().batch_tokenize(["a cat"])[0],
        ):
            indices = indexer.tokens_to_indices(tokens, Vocabulary())
            tensor = indexer.as_padded_tensor_dict(indices, {"tokens": 4})["tokens"]
            assert tensor.shape == (4, 3)
            assert tensor[:2].all() and not tensor[2:].any()

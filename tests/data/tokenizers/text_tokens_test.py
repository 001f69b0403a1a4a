import pickle
from copy import deepcopy

import pytest
from allennlp.common.util import sanitize
from allennlp.data import Token

from bidaf_plugin.data.tokenizers import PtbTokenizer, TextTokens

TEXT = "It didn't rain, did it?"
WORDS = ["It", "did", "n't", "rain", ",", "did", "it", "?"]


@pytest.fixture
def tokens() -> TextTokens:
    return PtbTokenizer().batch_tokenize(["Other text.", TEXT])[1]


class TestTextTokens:
    def test_is_the_sequence_that_tokenize_gives(self, tokens: TextTokens) -> None:
        expected = PtbTokenizer().tokenize(TEXT)
        assert list(tokens) == expected
        assert [tokens[index] for index in range(len(tokens))] == expected
        assert tokens[-1] == Token("?", len(TEXT) - 1, len(TEXT))
        assert tokens.words() == sanitize(tokens) == WORDS
        assert str(tokens) == str(expected)
        with pytest.raises(IndexError):
            tokens[8]

    @pytest.mark.parametrize(
        "part", [slice(3), slice(2, 5), slice(None), slice(-2, None), slice(5, 2), slice(4, 99)]
    )
    def test_slices_are_those_of_a_list(self, tokens: TextTokens, part: slice) -> None:
        assert tokens[part].words() == WORDS[part]
        assert len(tokens[part]) == len(WORDS[part])
        assert list(tokens[1:][part]) == list(tokens)[1:][part]

    def test_a_pickle_holds_this_text_only(self, tokens: TextTokens) -> None:
        pickled = pickle.dumps(tokens)
        assert b"Other" not in pickled
        received = pickle.loads(pickled)
        assert received.text == TEXT
        assert list(received) == list(tokens)
        assert [received.lexicon.words[n] for n in received.word_numbers] == WORDS

    def test_a_copy_is_itself(self, tokens: TextTokens) -> None:
        assert deepcopy(tokens) is tokens

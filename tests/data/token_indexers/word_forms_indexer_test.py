import pytest
from allennlp.data import Token, Vocabulary

from bidaf_plugin.data.token_indexers import WordFormsIndexer
from bidaf_plugin.data.tokenizers import PtbTokenizer


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

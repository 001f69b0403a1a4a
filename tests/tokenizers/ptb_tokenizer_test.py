from typing import List

import pytest

from bidaf_plugin.tokenizers import PtbTokenizer


def words(text: str, split_compounds: bool = True) -> List[str]:
    return [str(token) for token in PtbTokenizer(split_compounds).tokenize(text)]


class TestPtbTokenizer:
    @pytest.mark.parametrize(
        "text, expected",
        [
            ("It didn't rain.", ["It", "did", "n't", "rain", "."]),
            (
                "John Mayow (1641-1679) refined",
                ["John", "Mayow", "(", "1641", "-", "1679", ")", "refined"],
            ),
            ("1854–1855", ["1854", "–", "1855"]),
            ("and/or ~50 60°N", ["and", "/", "or", "~", "50", "60", "°", "N"]),
            ('the "North" Slope’s', ["the", '"', "North", '"', "Slope", "’s"]),
            ("O'Brien's cats'", ["O", "'", "Brien", "'s", "cats", "'"]),
            ("US$5.2 billion", ["US", "$", "5.2", "billion"]),
            ("Paris.[1] in 1873.:33", ["Paris", ".", "[", "1", "]", "in", "1873", ".:", "33"]),
            ("a\n\n b\t", ["a", "b"]),
            ("  \n", []),
        ],
    )
    def test_splits_like_the_treebank_and_the_authors(self, text: str, expected: List[str]) -> None:
        assert words(text) == expected

    def test_compounds_stay_whole_in_questions(self) -> None:
        assert words("the well-known O'Brien", split_compounds=False) == [
            "the",
            "well",
            "-",
            "known",
            "O'Brien",
        ]
        assert words("in 1854-1855", split_compounds=False) == ["in", "1854", "-", "1855"]

    @pytest.mark.parametrize(
        "text",
        ['  Its rival, the "North"\n slope isn\'t', "日本語 – naïve 😀text 1.5°C", "a" * 5000],
    )
    def test_offsets_cut_out_the_tokens(self, text: str) -> None:
        tokens = PtbTokenizer().tokenize(text)
        assert tokens
        for token in tokens:
            assert text[token.idx : token.idx_end] == token.text
        # Nothing is lost but blanks.
        assert "".join(token.text for token in tokens) == "".join(text.split())

    def test_the_memory_of_chunks_is_bounded_and_changes_nothing(self) -> None:
        small = PtbTokenizer(max_cached_chunks=2)
        text = "one two-three four. one two-three five"
        assert [t.text for t in small.tokenize(text)] == words(text)
        assert len(small._pieces_of_chunk) <= 2

    @pytest.mark.parametrize("character", ["(", "'", "🎉", ",", "a", "1-"])
    def test_long_runs_of_characters_take_no_longer_than_their_length(self, character: str) -> None:
        # By the rules alone, this would take minutes.
        text = character * 20_000
        tokenizer = PtbTokenizer(max_cached_chunks=5)
        (tokens,) = tokenizer.batch_tokenize([text])
        assert "".join(token.text for token in tokens) == text
        assert list(tokens) == tokenizer.tokenize(text)
        # Nor is the memory filled with them.
        assert not tokenizer._pieces_of_chunk
        tokenizer.batch_tokenize(["a"])
        assert len(tokenizer._chunk_table) == 1

    @pytest.mark.parametrize("split_compounds", [True, False])
    def test_many_texts_at_once_are_cut_like_each_alone(self, split_compounds: bool) -> None:
        texts = [
            "It didn't  rain in 1641-1679. ",
            "",
            "\n\t a\u00a0b\nc ",
            "   ",
            "It was 日本語 – naïve 😀text (1.5°C).",
            "again: It didn't",
        ]
        tokenizer = PtbTokenizer(split_compounds, max_cached_chunks=5)
        alone = [tokenizer.tokenize(text) for text in texts]
        # Twice, since the memory of chunks is emptied in between.
        for _ in range(2):
            together = tokenizer.batch_tokenize(texts)
            assert [list(tokens) for tokens in together] == alone
            assert [tokens.text for tokens in together] == texts
        assert tokenizer.batch_tokenize([]) == []

import pickle
from copy import deepcopy
from typing import List

import pytest
from allennlp.common.checks import ConfigurationError
from nltk.tokenize import TreebankWordTokenizer

from bidaf_plugin.data.tokenizers import PtbTokenizer
from tests.thread_helpers import run_together

NUM_THREADS = 4


def words(text: str, split_compounds: bool = True, whole_compounds: bool = False) -> List[str]:
    tokenizer = PtbTokenizer(split_compounds, whole_compounds=whole_compounds)
    return [str(token) for token in tokenizer.tokenize(text)]


def texts_of(thread: int) -> List[str]:
    """Texts with words that no other text has, and with words that all have."""
    return [f"It is number-{number} of thread{thread}, word{number}!" for number in range(300)]


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

    def test_without_further_cuts_the_rules_still_cut_at_hyphens(self) -> None:
        # Archives rely on this: it is what `split_compounds` alone has always done.
        assert words("the full-time O'Brien, 1854-1855", split_compounds=False) == [
            *["the", "full", "-", "time", "O'Brien", ",", "1854", "-", "1855"]
        ]

    @pytest.mark.parametrize(
        "text",
        [
            "Who had a full-time job in 1854-1855?",
            "a mother-in-law's state-of-the-art Ohio–Michigan war, 15–1",
            "speed in km/h and/or (miles-per-hour)",
            "the S-IVB-200 of the U.S.-led X-Men didn't",
            "one--two - three / four a- -b",
        ],
    )
    def test_compounds_can_stay_whole_as_in_the_authors_questions(self, text: str) -> None:
        whole = words(text, split_compounds=False, whole_compounds=True)
        assert whole == TreebankWordTokenizer().tokenize(text)
        assert whole != words(text)

    def test_compounds_are_whole_or_split(self) -> None:
        with pytest.raises(ConfigurationError, match="both true: set 'split_compounds' to false"):
            PtbTokenizer(whole_compounds=True)

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
        for _ in range(3):
            assert [t.text for t in small.tokenize(text)] == words(text)
            # Those of the last text.
            assert len(small._cutter._chunk_table) == 4

    @pytest.mark.parametrize("whole_compounds", [True, False])
    @pytest.mark.parametrize("character", ["(", "'", "🎉", ",", "a", "1-"])
    def test_long_runs_of_characters_take_no_longer_than_their_length(
        self, character: str, whole_compounds: bool
    ) -> None:
        # By the rules alone, this would take minutes.
        text = character * 20_000
        tokenizer = PtbTokenizer(
            not whole_compounds, max_cached_chunks=5, whole_compounds=whole_compounds
        )
        (tokens,) = tokenizer.batch_tokenize([text])
        assert "".join(token.text for token in tokens) == text
        assert max(len(token.text) for token in tokens) <= 100
        assert list(tokens) == tokenizer.tokenize(text)
        # Nor is the memory filled with them.
        tokenizer.batch_tokenize(["a"])
        assert len(tokenizer._cutter._chunk_table) == 1

    @pytest.mark.parametrize(
        "split_compounds, whole_compounds", [(True, False), (False, False), (False, True)]
    )
    def test_many_texts_at_once_are_cut_like_each_alone(
        self, split_compounds: bool, whole_compounds: bool
    ) -> None:
        texts = [
            "It didn't  rain in 1641-1679. ",
            "",
            "\n\t a\u00a0b\nc ",
            "   ",
            "It was 日本語 – naïve 😀text (1.5°C).",
            "again: It didn't",
        ]
        tokenizer = PtbTokenizer(split_compounds, 5, whole_compounds)
        alone = [tokenizer.tokenize(text) for text in texts]
        # Twice, since the memory of chunks is emptied in between.
        for _ in range(2):
            together = tokenizer.batch_tokenize(texts)
            assert [list(tokens) for tokens in together] == alone
            assert [tokens.text for tokens in together] == texts
        assert tokenizer.batch_tokenize([]) == []


class TestThreadsAndCopies:
    def test_threads_get_what_one_alone_would_get(self) -> None:
        shared = PtbTokenizer()
        found = run_together(
            lambda thread: [shared.batch_tokenize([text])[0] for text in texts_of(thread)],
            NUM_THREADS,
        )
        for thread, texts in enumerate(found):
            alone = PtbTokenizer().batch_tokenize(texts_of(thread))
            assert [list(tokens) for tokens in texts] == [list(tokens) for tokens in alone]

    def test_a_tokenizer_can_be_copied_and_pickled(self) -> None:
        tokenizer = PtbTokenizer()
        (expected,) = tokenizer.batch_tokenize(["It didn't rain."])
        for copied in (deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer))):
            copied.batch_tokenize(["Something else."])
            (tokens,) = copied.batch_tokenize(["It didn't rain."])
            assert list(tokens) == list(expected)

import pickle
from copy import deepcopy
from typing import List, Tuple

import pytest

from bidaf_plugin.data.tokenizers import PtbTokenizer
from bidaf_plugin.data.tokenizers.chunk_table import ChunkTable
from tests.thread_helpers import run_together

NUM_THREADS = 4


def texts_of(thread: int) -> List[str]:
    """Texts with words that no other text has, and with words that all have."""
    return [f"It is number-{number} of thread{thread}, word{number}!" for number in range(300)]


def cut(chunk: str) -> List[Tuple[int, str]]:
    """A chunk and its last letter."""
    return [(0, chunk), (len(chunk) - 1, chunk[-1])]


class TestChunkTable:
    def test_threads_get_what_one_alone_would_get(self) -> None:
        shared = PtbTokenizer()
        found = run_together(
            lambda thread: [shared.batch_tokenize([text])[0] for text in texts_of(thread)],
            NUM_THREADS,
        )
        for thread, texts in enumerate(found):
            alone = PtbTokenizer().batch_tokenize(texts_of(thread))
            assert [list(tokens) for tokens in texts] == [list(tokens) for tokens in alone]

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
    @pytest.mark.parametrize("num_words_before", [0, 1])
    def test_an_interrupt_leaves_the_table_as_it_was(
        self, error: type, num_words_before: int
    ) -> None:
        fails = True

        def cut_or_fail(chunk: str):  # type: ignore[no-untyped-def]
            words = cut(chunk)
            if chunk == "bad" and fails:
                yield from words[:num_words_before]
                raise error
            yield from words

        table = ChunkTable(cut_or_fail)
        table.tokenize(["one two"])
        with pytest.raises(error):
            table.tokenize(["three bad four"])
        fails = False
        (tokens,) = table.tokenize(["four bad two"])
        (expected,) = ChunkTable(cut).tokenize(["four bad two"])
        assert list(tokens) == list(expected)
        assert "bad" in table

    def test_an_interrupt_between_two_columns_leaves_the_table_as_it_was(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = ChunkTable(cut)
        take_in = table._lexicon.take_in

        def take_in_or_fail(word: str) -> int:
            if word == "d":
                raise KeyboardInterrupt
            return take_in(word)

        with monkeypatch.context() as patched:
            patched.setattr(table._lexicon, "take_in", take_in_or_fail)
            with pytest.raises(KeyboardInterrupt):
                table.tokenize(["one bad"])
        (tokens,) = table.tokenize(["two bad one"])
        assert tokens.words() == ["two", "o", "bad", "d", "one", "e"]

    def test_a_tokenizer_can_be_copied_and_pickled(self) -> None:
        tokenizer = PtbTokenizer()
        (expected,) = tokenizer.batch_tokenize(["It didn't rain."])
        for copied in (deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer))):
            copied.batch_tokenize(["Something else."])
            (tokens,) = copied.batch_tokenize(["It didn't rain."])
            assert list(tokens) == list(expected)

from typing import List, Tuple

import pytest

from bidaf_plugin.data.tokenizers.treebank_rules import load_treebank_rules
from bidaf_plugin.runtime.text_cutter import ChunkTable, TextCutter
from bidaf_plugin.runtime.tokenized_text import TokenizedText, TokenTable
from bidaf_plugin.runtime.word_cutter import WordCutter


def cut(chunk: str) -> List[Tuple[int, str]]:
    """A chunk and its last letter."""
    return [(0, chunk), (len(chunk) - 1, chunk[-1])]


def words_of(table: TokenTable) -> List[str]:
    return [table.lexicon.words[number] for number in table.word_numbers.tolist()]


class TestTextCutter:
    def test_words_are_cut_from_their_texts(self) -> None:
        cutter = WordCutter(load_treebank_rules().cut, split_compounds=True, whole_compounds=False)
        texts = ["It didn't  rain.", "", "in 1641-1679\n"]
        rain, nothing, years = TextCutter(cutter.cut, TokenizedText).cut(texts)
        assert rain.words() == ["It", "did", "n't", "rain", "."]
        assert (nothing.words(), len(nothing)) == ([], 0)
        for found in (rain, years, years.part(1, 3)):
            places = zip(found.starts.tolist(), found.ends.tolist(), strict=True)
            assert [found.text[start:end] for start, end in places] == found.words()
        assert years.part(1, 3).words() == ["1641", "-"]
        assert years.part(3, 9).words() == ["1679"] and years.part(2, 1).words() == []


class TestChunkTable:
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
        tokens, _ = table.tokenize(["four bad two"])
        expected, _ = ChunkTable(cut).tokenize(["four bad two"])
        assert words_of(tokens) == words_of(expected)
        assert tokens.starts.tolist() == expected.starts.tolist()
        assert "bad" in table

    def test_an_interrupt_between_two_columns_leaves_the_table_as_it_was(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = ChunkTable(cut)
        number = table._lexicon.number

        def number_or_fail(word: str) -> int:
            if word == "d":
                raise KeyboardInterrupt
            return number(word)

        with monkeypatch.context() as patched:
            patched.setattr(table._lexicon, "number", number_or_fail)
            with pytest.raises(KeyboardInterrupt):
                table.tokenize(["one bad"])
        tokens, rows = table.tokenize(["two bad one"])
        assert words_of(tokens) == ["two", "o", "bad", "d", "one", "e"]
        assert rows == [0, 6]

import time
from typing import List, Sequence

import numpy
import pytest
from allennlp.data import Vocabulary

from bidaf_plugin.data.token_indexers import WordIdIndexer
from bidaf_plugin.data.token_indexers.word_table import WordTable
from bidaf_plugin.data.tokenizers import Lexicon
from tests.thread_helpers import run_together

WORDS = [f"word{number}" for number in range(400)]


def make_rows(words: Sequence[str], vocab: Vocabulary) -> numpy.ndarray:
    return numpy.array([vocab.get_token_index(word) for word in words])


class SlowIndexer(WordIdIndexer):
    """Lets another thread go on while it makes rows."""

    def _make_rows(self, words: Sequence[str], vocabulary: Vocabulary) -> numpy.ndarray:
        time.sleep(0)
        return super()._make_rows(words, vocabulary)


class TestWordTable:
    def test_threads_find_the_rows_of_their_words(self) -> None:
        vocab = Vocabulary(counter={"tokens": dict.fromkeys(WORDS, 1)})
        lexicon, indexer = Lexicon(), SlowIndexer()

        def index(thread: int) -> List[int]:
            # Each meets the words in another order.
            ordered = WORDS[100 * thread :] + WORDS[: 100 * thread]
            found = {}
            for word in ordered:
                number = lexicon.number(word)
                found[word] = int(indexer.table(lexicon, vocab)[number])
            return [found[word] for word in WORDS]

        expected = [vocab.get_token_index(word) for word in WORDS]
        assert run_together(index, 4) == [expected] * 4

    def test_words_that_come_meanwhile_have_their_rows_the_next_time(self) -> None:
        vocab = Vocabulary(counter={"tokens": dict.fromkeys(WORDS, 1)})
        words = WORDS[:2]

        def make_rows_slowly(new_words: Sequence[str], vocab: Vocabulary) -> numpy.ndarray:
            rows = make_rows(new_words, vocab)
            words.append(WORDS[len(words)])
            return rows

        table = WordTable(vocab, 0)
        table.rows(words, make_rows_slowly)
        table.rows(words, make_rows_slowly)
        rows = table.rows(words, make_rows)
        assert rows[: len(words)].tolist() == make_rows(words, vocab).tolist()

    def test_an_interrupt_leaves_the_table_as_it_was(self) -> None:
        vocab = Vocabulary(counter={"tokens": dict.fromkeys(WORDS, 1)})

        def fail(words: Sequence[str], vocab: Vocabulary) -> numpy.ndarray:
            raise KeyboardInterrupt

        table = WordTable(vocab, 0)
        for num_words in (2, 3, 9):
            with pytest.raises(KeyboardInterrupt):
                table.rows(WORDS[:num_words], fail)
            rows = table.rows(WORDS[:num_words], make_rows)
            assert rows[:num_words].tolist() == make_rows(WORDS[:num_words], vocab).tolist()

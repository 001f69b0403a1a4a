from array import array
from typing import Callable, Dict, Iterable, List, Tuple

import numpy

from bidaf_plugin.data.tokenizers.lexicon import Lexicon
from bidaf_plugin.data.tokenizers.tables_lock import TABLES_LOCK
from bidaf_plugin.data.tokenizers.text_tokens import TextTokens
from bidaf_plugin.data.tokenizers.token_table import TokenTable


class ChunkTable(Dict[str, int]):
    """
    How each distinct chunk of text (what stands between two spaces) is cut into words. A chunk is
    cut once; after that a text is a list of chunk numbers, and the tokens of many texts are gathered
    at once by numpy.

    The dictionary has the number of each chunk; asking for a new chunk takes it in. Several threads may
    `tokenize` at the same time.

    # Parameters

    cut : `Callable[[str], Iterable[Tuple[int, str]]]`
        Gives the words of a chunk with their offsets.

    # Attributes

    num_characters : `int`
        Of all chunks.
    """

    def __init__(self, cut: Callable[[str], Iterable[Tuple[int, str]]]) -> None:
        super().__init__()
        self.num_characters = 0
        self._cut = cut
        self._lexicon = Lexicon()
        # The words of all chunks, one chunk after the other: number in the lexicon and place in the chunk.
        self._word_numbers = array("i")
        self._word_starts = array("i")
        self._word_ends = array("i")
        # By chunk: its first word (and, at the end, one past the last word), its length.
        self._first_words = array("i", [0])
        self._lengths = array("i")

    def __missing__(self, chunk: str) -> int:
        words = self._cut(chunk)
        number = len(self)
        try:
            for offset, word in words:
                self._word_numbers.append(self._lexicon.take_in(word))
                self._word_starts.append(offset)
                self._word_ends.append(offset + len(word))
            self._first_words.append(len(self._word_numbers))
            self._lengths.append(len(chunk))
            self[chunk] = number
        except BaseException:
            self._remove_last(chunk, number)
            raise
        self.num_characters += len(chunk)
        return number

    def _remove_last(self, chunk: str, number: int) -> None:
        """Undoes what an interrupted call has done, so that the columns fit each other again."""
        self.pop(chunk, None)
        del self._lengths[number:]
        del self._first_words[number + 1 :]
        for column in (self._word_numbers, self._word_starts, self._word_ends):
            del column[self._first_words[number] :]

    def tokenize(self, texts: List[str]) -> List[TextTokens]:
        chunks: List[str] = []
        num_chunks = []
        for text in texts:
            chunks_of_text = text.split(" ")
            num_chunks.append(len(chunks_of_text))
            chunks += chunks_of_text
        with TABLES_LOCK:
            # Shape: (num_chunks,)
            chunk_numbers = numpy.fromiter(map(self.__getitem__, chunks), numpy.int32, len(chunks))
            table, first_rows = self._gather(chunk_numbers, numpy.cumsum([0, *num_chunks]))
        return [
            TextTokens(text, table, first_row, end_row)
            for text, first_row, end_row in zip(texts, first_rows, first_rows[1:], strict=False)
        ]

    def _gather(
        self, chunk_numbers: numpy.ndarray, first_chunks: numpy.ndarray
    ) -> Tuple[TokenTable, List[int]]:
        """
        The tokens of texts, given as the numbers of their chunks and the place of each text's first
        chunk, and the row at which each text begins (and the last one ends).
        """
        # Views, since the table may be large and the text short.
        first_words, lengths, word_numbers, word_starts, word_ends = (
            numpy.frombuffer(column, numpy.int32) if column else numpy.zeros(0, numpy.int32)
            for column in (
                self._first_words,
                self._lengths,
                self._word_numbers,
                self._word_starts,
                self._word_ends,
            )
        )
        # Shape: (num_chunks,)
        num_words = first_words[chunk_numbers + 1] - first_words[chunk_numbers]
        # Shape: (num_chunks + 1,)
        end_rows = numpy.concatenate([[0], numpy.cumsum(num_words)])
        chunk_starts = numpy.concatenate([[0], numpy.cumsum(lengths[chunk_numbers] + 1)])
        # Characters are counted from the beginning of the text.
        text_starts = numpy.repeat(chunk_starts[first_chunks[:-1]], numpy.diff(first_chunks))
        chunk_starts = chunk_starts[:-1] - text_starts
        # Shape: (num_tokens,)
        words = numpy.arange(end_rows[-1]) + numpy.repeat(
            first_words[chunk_numbers] - end_rows[:-1], num_words
        )
        chunk_starts = numpy.repeat(chunk_starts, num_words)
        table = TokenTable(
            self._lexicon,
            word_numbers=word_numbers[words],
            starts=(chunk_starts + word_starts[words]).astype(numpy.int32),
            ends=(chunk_starts + word_ends[words]).astype(numpy.int32),
        )
        return table, end_rows[first_chunks].tolist()

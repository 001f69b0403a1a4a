from array import array
from typing import Callable, Dict, Generic, Iterable, List, Tuple, Type, TypeVar

import numpy

from bidaf_plugin.runtime.lexicon import TABLES_LOCK, Lexicon
from bidaf_plugin.runtime.tokenized_text import TokenizedText, TokenTable
from bidaf_plugin.runtime.word_cutter import MAX_CHUNK_LENGTH

# Gives the words of a chunk with their offsets.
CutChunk = Callable[[str], Iterable[Tuple[int, str]]]
Text = TypeVar("Text", bound=TokenizedText)


class TextCutter(Generic[Text]):
    """
    Cuts texts into tokens, many at once, and remembers how each distinct chunk of text is cut.

    # Parameters

    cut : `Callable[[str], Iterable[Tuple[int, str]]]`
        Gives the words of a chunk with their offsets, like that of a `WordCutter`.
    text_class : `Type[TokenizedText]`
        The class of the results.
    max_cached_chunks : `int`, optional (default = `500000`)
        At so many chunks, or if they are very long, what is remembered is forgotten.
    """

    def __init__(
        self, cut: CutChunk, text_class: Type[Text], max_cached_chunks: int = 500_000
    ) -> None:
        self._cut = cut
        self._text_class = text_class
        self._max_cached_chunks = max_cached_chunks
        self._chunk_table = ChunkTable(cut)

    def cut(self, texts: List[str]) -> List[Text]:
        """The tokens of many texts, several times faster than one by one, and in little memory."""
        if (
            len(self._chunk_table) >= self._max_cached_chunks
            or self._chunk_table.num_characters >= MAX_CHUNK_LENGTH * self._max_cached_chunks
        ):
            self._chunk_table = ChunkTable(self._cut)
        table, rows = self._chunk_table.tokenize(texts)
        return [
            self._text_class(text, table, first_row, end_row)
            for text, first_row, end_row in zip(texts, rows, rows[1:], strict=False)
        ]


class ChunkTable(Dict[str, int]):
    """
    How each distinct chunk of text (what stands between two spaces) is cut into words. A chunk is
    cut once; after that a text is a list of chunk numbers, and the tokens of many texts are gathered
    at once by numpy.

    The dictionary has the number of each chunk; asking for a new chunk adds it. Several threads may
    `tokenize` at the same time.

    # Parameters

    cut : `Callable[[str], Iterable[Tuple[int, str]]]`
        Gives the words of a chunk with their offsets.

    # Attributes

    num_characters : `int`
        Of all chunks.
    """

    def __init__(self, cut: CutChunk) -> None:
        super().__init__()
        self.num_characters = 0
        self._cut = cut
        self._lexicon = Lexicon()
        # Three numbers for each word, one chunk after the other: its number in the lexicon, its first
        # character in the chunk and one past its last. The first row of both arrays is of no use: numpy
        # cannot look at an empty array.
        self._words = array("i", [0, 0, 0])
        # Three numbers for each chunk: its first word, how many words it has, and its length.
        self._chunks = array("i", [0, 0, 0])

    def __missing__(self, chunk: str) -> int:
        words = array("i")
        for offset, word in self._cut(chunk):
            words.extend((self._lexicon.number(word), offset, offset + len(word)))
        # An interrupt comes between two of these lines, and leaves numbers that nothing refers to.
        number, first_word = len(self._chunks) // 3, len(self._words) // 3
        self._words.extend(words)
        self._chunks.extend((first_word, len(words) // 3, len(chunk)))
        self[chunk] = number
        self.num_characters += len(chunk)
        return number

    def tokenize(self, texts: List[str]) -> Tuple[TokenTable, List[int]]:
        """The tokens of texts, and the row at which each text begins (and the last one ends)."""
        chunks: List[str] = []
        num_chunks = []
        for text in texts:
            chunks_of_text = text.split(" ")
            num_chunks.append(len(chunks_of_text))
            chunks += chunks_of_text
        with TABLES_LOCK:
            # Shape: (num_chunks,)
            chunk_numbers = numpy.fromiter(map(self.__getitem__, chunks), numpy.int32, len(chunks))
            return self._gather(chunk_numbers, numpy.cumsum([0, *num_chunks]))

    def _gather(
        self, chunk_numbers: numpy.ndarray, first_chunks: numpy.ndarray
    ) -> Tuple[TokenTable, List[int]]:
        """
        The tokens of texts, given as the numbers of their chunks and the index of each text's first
        chunk, and the row at which each text begins (and the last one ends).
        """
        # Views, since the table may be large and the text short.
        # Shape: (num_words of all chunks, 3), (number of all chunks, 3)
        all_words, all_chunks = (
            numpy.frombuffer(numbers, numpy.int32).reshape(-1, 3)
            for numbers in (self._words, self._chunks)
        )
        # Shape: (num_chunks,)
        first_words, num_words, lengths = all_chunks[chunk_numbers].T
        # Shape: (num_chunks + 1,)
        end_rows = numpy.concatenate([[0], numpy.cumsum(num_words)])
        chunk_starts = numpy.concatenate([[0], numpy.cumsum(lengths + 1)])
        # Characters are counted from the beginning of the text.
        text_starts = numpy.repeat(chunk_starts[first_chunks[:-1]], numpy.diff(first_chunks))
        chunk_starts = chunk_starts[:-1] - text_starts
        # Shape: (num_tokens,)
        rows = numpy.arange(end_rows[-1]) + numpy.repeat(first_words - end_rows[:-1], num_words)
        chunk_starts = numpy.repeat(chunk_starts, num_words)
        table = TokenTable(
            self._lexicon,
            word_numbers=all_words[rows, 0],
            starts=(chunk_starts + all_words[rows, 1]).astype(numpy.int32),
            ends=(chunk_starts + all_words[rows, 2]).astype(numpy.int32),
        )
        return table, end_rows[first_chunks].tolist()

"""
JSON of any size, read value by value.
"""

import json
import re
from typing import IO, Any, Iterator

_BLANKS = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
_CHARACTERS_PER_READ = 1 << 16
# Where text ends too early, Python finds a fault at most so many characters before the end (in "\\uXXXX\\uXXXX"), or
# at the beginning of a string.
_LONGEST_TOKEN = 12
_OPEN_STRING = "Unterminated string"


class JsonStream:
    """
    Goes through JSON text, of which it never holds more than the one value that is asked for.

    What is not JSON is a `ValueError`, after which nothing more can be read.

    # Parameters

    file : `IO[str]`
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._text = ""
        # Up to where this text has been read, and how many characters were before it.
        self._index = 0
        self._num_before = 0

    def peek(self) -> str:
        """The next character that is no blank, empty at the end."""
        while True:
            blanks = _BLANKS.match(self._text, self._index)
            assert blanks is not None
            self._index = blanks.end()
            if self._index < len(self._text):
                return self._text[self._index]
            if not self._read_more():
                return ""

    def value(self) -> Any:
        """The next value, whole."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._index)
            except json.JSONDecodeError as error:
                is_cut = error.pos >= len(self._text) - _LONGEST_TOKEN
                is_cut = is_cut or error.msg.startswith(_OPEN_STRING)
                if not (is_cut and self._read_more()):
                    place = self._num_before + error.pos
                    raise ValueError(f"{error.msg} at character {place:,}") from None
            else:
                # A number may go on, and be whole without that: "1" of "1.5e+10".
                if end < len(self._text) - _LONGEST_TOKEN or not self._read_more():
                    self._index = end
                    return value

    def object_keys(self) -> Iterator[str]:
        """The keys of an object; the value of each is to be read before the next key."""
        self._take("{")
        if self.peek() == "}":
            self._take("}")
            return
        while True:
            if self.peek() != '"':
                self._take('"')
            key = self.value()
            self._take(":")
            yield key
            if self._take(",}") == "}":
                return

    def array_items(self) -> Iterator[int]:
        """The indices of the items of an array; each item is to be read before the next index."""
        self._take("[")
        if self.peek() == "]":
            self._take("]")
            return
        index = 0
        while True:
            yield index
            if self._take(",]") == "]":
                return
            index += 1

    def _take(self, characters: str) -> str:
        found = self.peek()
        if not found or found not in characters:
            expected = " or ".join(map(repr, characters))
            place = self._num_before + self._index
            raise ValueError(
                f"expected {expected}, found {found or 'the end'!r} at character {place:,}"
            )
        self._index += 1
        return found

    def _read_more(self) -> bool:
        # As much again, so that a long value is not tried too often.
        more = self._file.read(max(_CHARACTERS_PER_READ, len(self._text) - self._index))
        if more:
            self._text = self._text[self._index :] + more
            self._num_before += self._index
            self._index = 0
        return bool(more)

from collections.abc import Sequence
from typing import Any, Iterator, List, Tuple, Union, overload

import numpy
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token

from bidaf_plugin.runtime.lexicon import Lexicon
from bidaf_plugin.runtime.tokenized_text import TokenizedText, TokenTable


class TextTokens(TokenizedText, Sequence):
    """
    The tokens of a text as a sequence, which makes `Token`s when asked for them and keeps rows of a table
    otherwise: `text[token.idx : token.idx_end] == token.text`.
    """

    __slots__: List[str] = []

    def __iter__(self) -> Iterator[Token]:
        return map(Token, self.words(), self.starts.tolist(), self.ends.tolist())

    @overload
    def __getitem__(self, index: int) -> Token: ...

    @overload
    def __getitem__(self, index: slice) -> "TextTokens": ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Token, "TextTokens"]:
        rows = range(self._first_row, self._end_row)[index]
        if isinstance(rows, range):
            if rows.step != 1:
                raise IndexError("tokens of a text are taken in one piece")
            return TextTokens(self.text, self._table, rows.start, max(rows.start, rows.stop))
        return Token(
            self.lexicon.words[self._table.word_numbers[rows]],
            int(self._table.starts[rows]),
            int(self._table.ends[rows]),
        )

    def __str__(self) -> str:
        return str(list(self))

    __repr__ = __str__

    def to_json(self) -> List[str]:
        """What AllenNLP's `sanitize` makes of a list of tokens."""
        return self.words()

    def __deepcopy__(self, memo: Any) -> "TextTokens":
        return self

    def __reduce__(self) -> Tuple[Any, ...]:
        # Without the table and its lexicon, which belong to many texts.
        return _receive, (self.text, self.starts.copy(), self.ends.copy())


# The words of the texts that came from other processes.
_RECEIVED_WORDS = Lexicon()


def _receive(text: str, starts: numpy.ndarray, ends: numpy.ndarray) -> TextTokens:
    words = (text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True))
    table = TokenTable(_RECEIVED_WORDS, _RECEIVED_WORDS.numbers(words), starts, ends)
    return TextTokens(text, table, 0, len(starts))


def with_offsets(tokens: Sequence[Token], text: str) -> Sequence[Token]:
    """Tokens that know where they stand in their text, which not every tokenizer says."""
    if isinstance(tokens, TextTokens) or all(token.idx_end is not None for token in tokens):
        return tokens
    end = 0
    for token in tokens:
        word = token.ensure_text()
        start = text.find(word, end) if token.idx is None else token.idx
        end = start + len(word)
        if text[max(start, 0) : end] != word:
            raise ConfigurationError(
                f"the tokenizer made {word!r} of {text!r:.80}, where it is not to be found: answers can "
                "only be cut from a text whose words are left as they are"
            )
        token.idx, token.idx_end = start, end
    return tokens


def character_offsets(tokens: Sequence[Token]) -> Tuple[List[int], List[int]]:
    """The first character of each token, and one past its last."""
    if isinstance(tokens, TextTokens):
        return tokens.starts.tolist(), tokens.ends.tolist()
    return [token.idx for token in tokens], [token.idx_end for token in tokens]

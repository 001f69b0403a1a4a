from collections import defaultdict
from copy import copy
from typing import Dict, List, Mapping, Optional, Sequence

import numpy
import torch
from allennlp.data import Field, TextFieldTensors, Token, TokenIndexer, Vocabulary
from overrides import overrides

from bidaf_plugin.data.fields.compact_text_field import CompactTextField, add_counts, count_items
from bidaf_plugin.data.token_indexers.word_indexer import Counts


class WindowedTextField(Field[TextFieldTensors]):
    """
    A text of which a model sees windows. Its tensors are those of a `ListField` with one `TextField`
    per window, so they have two dimensions for the words, `(num_windows, window_length)`; but each
    distinct word of the text is counted and indexed once, however often it occurs and however many
    windows it is in. Of the characters of an article nothing is kept, see `CompactTextField`.

    # Parameters

    words : `Sequence[str]`
        The text.
    token_of : `Mapping[str, Token]`
        The token of each distinct word.
    windows : `numpy.ndarray`
        Shape `(num_windows, 2)`: first word and one past the last of each window. Without any, the
        tensors have one window, of padding.
    token_indexers : `Dict[str, TokenIndexer]`, optional
    """

    __slots__ = ["_distinct_words", "word_numbers", "windows"]

    def __init__(
        self,
        words: Sequence[str],
        token_of: Mapping[str, Token],
        windows: numpy.ndarray,
        token_indexers: Optional[Dict[str, TokenIndexer]] = None,
    ) -> None:
        number_of = {word: number for number, word in enumerate(dict.fromkeys(words))}
        self._distinct_words = CompactTextField([], token_indexers)
        # Not in the constructor, which looks at the type of each token.
        self._distinct_words.tokens = [token_of[word] for word in number_of]  # type: ignore[misc]
        # Shape: (num_words,)
        self.word_numbers = numpy.array([number_of[word] for word in words], dtype=numpy.int64)
        self.windows = windows

    @property
    def token_indexers(self) -> Dict[str, TokenIndexer]:
        return self._distinct_words.token_indexers

    @token_indexers.setter
    def token_indexers(self, token_indexers: Dict[str, TokenIndexer]) -> None:
        self._distinct_words.token_indexers = token_indexers

    @property
    def tokens(self) -> List[Token]:
        """The whole text."""
        return [self._distinct_words.tokens[number] for number in self.word_numbers]

    def __len__(self) -> int:
        return len(self.word_numbers)

    @property
    def num_windows(self) -> int:
        return max(len(self.windows), 1)

    @property
    def window_length(self) -> int:
        """Words of the longest window."""
        return int((self.windows[:, 1] - self.windows[:, 0]).max(initial=1))

    @overrides
    def count_vocab_items(self, counter: Counts) -> None:
        # Words that occur equally often are counted once, and the counts multiplied.
        tokens_by_count: Dict[int, List[Token]] = defaultdict(list)
        tokens = self._distinct_words.tokens
        for token, count in zip(tokens, numpy.bincount(self.word_numbers).tolist(), strict=True):
            tokens_by_count[count].append(token)
        for count, tokens in tokens_by_count.items():
            counts: Counts = defaultdict(lambda: defaultdict(int))
            count_items(tokens, self.token_indexers, counts)
            add_counts(counts, counter, times=count)

    @overrides
    def index(self, vocab: Vocabulary) -> None:
        self._distinct_words.index(vocab)

    @overrides
    def get_padding_lengths(self) -> Dict[str, int]:
        windows = {"num_windows": self.num_windows, "window_length": self.window_length}
        return {**self._distinct_words.get_padding_lengths(), **windows}

    @overrides
    def as_tensor(self, padding_lengths: Dict[str, int]) -> TextFieldTensors:
        lengths = dict(padding_lengths)
        positions = self.word_positions(lengths.pop("num_windows"), lengths.pop("window_length"))
        # Padding of the windows is the padding behind the words, of which there is one more.
        # Shape: (num_words + 1,)
        word_numbers = numpy.append(self.word_numbers, len(self._distinct_words))
        # Shape: (num_windows, window_length)
        indices = torch.from_numpy(word_numbers[positions])
        return {
            indexer_name: {
                name: _with_padding_behind(tensor)[indices] for name, tensor in by_name.items()
            }
            for indexer_name, by_name in self._distinct_words.as_tensor(lengths).items()
        }

    def word_positions(
        self, num_windows: Optional[int] = None, window_length: Optional[int] = None
    ) -> numpy.ndarray:
        """
        Where each word of each window stands in the text.

        # Returns

        `numpy.ndarray`
            Shape `(num_windows, window_length)`, with -1 for padding.
        """
        shape = (num_windows or self.num_windows, window_length or self.window_length)
        # Shape: (num_windows, 2)
        windows = numpy.zeros((shape[0], 2), dtype=numpy.int64)
        windows[: len(self.windows)] = self.windows
        # Shape: (num_windows, window_length)
        positions = windows[:, :1] + numpy.arange(shape[1])
        return numpy.where(positions < windows[:, 1:], positions, -1)

    @overrides
    def batch_tensors(self, tensor_list: List[TextFieldTensors]) -> TextFieldTensors:
        return self._distinct_words.batch_tensors(tensor_list)

    @overrides
    def empty_field(self) -> "WindowedTextField":
        empty = WindowedTextField([], {}, numpy.zeros((0, 2), dtype=numpy.int64))
        empty._distinct_words = self._distinct_words.empty_field()
        return empty

    @overrides
    def duplicate(self) -> "WindowedTextField":
        new = copy(self)
        new._distinct_words = self._distinct_words.duplicate()
        return new

    @overrides
    def human_readable_repr(self) -> List[str]:
        return [str(token) for token in self.tokens]


def _with_padding_behind(tensor: torch.Tensor) -> torch.Tensor:
    # Shape: (num_distinct_words + 1, ...)
    return torch.cat([tensor, tensor.new_zeros((1, *tensor.shape[1:]))])

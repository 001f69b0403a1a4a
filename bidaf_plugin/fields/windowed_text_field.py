from typing import Dict, List, Optional, Sequence, Tuple

import numpy
import torch
from allennlp.data import TextFieldTensors, Token, TokenIndexer
from allennlp.data.fields import TextField
from overrides import overrides

# First word and one past the last.
Window = Tuple[int, int]


class WindowedTextField(TextField):
    """
    A text of which a model sees windows. Its tensors are those of a `ListField` with one `TextField`
    per window, so they have two dimensions for the words, `(num_windows, window_length)`; but each
    word of the text is indexed once, however many windows it is in.

    # Parameters

    tokens : `List[Token]`
        The whole text.
    windows : `Sequence[Window]`
        First word and one past the last of each window. Without any the tensors have one window, of
        padding.
    token_indexers : `Dict[str, TokenIndexer]`, optional
    """

    __slots__ = ["windows"]

    def __init__(
        self,
        tokens: List[Token],
        windows: Sequence[Window],
        token_indexers: Optional[Dict[str, TokenIndexer]] = None,
    ) -> None:
        super().__init__(tokens, token_indexers)
        # Shape: (num_windows, 2)
        self.windows = numpy.array(windows, dtype=numpy.int64).reshape(-1, 2)

    @property
    def num_windows(self) -> int:
        return max(len(self.windows), 1)

    @property
    def window_length(self) -> int:
        """Words of the longest window."""
        return max(int((self.windows[:, 1] - self.windows[:, 0]).max(initial=1)), 1)

    @overrides
    def get_padding_lengths(self) -> Dict[str, int]:
        return {
            **super().get_padding_lengths(),
            "num_windows": self.num_windows,
            "window_length": self.window_length,
        }

    @overrides
    def as_tensor(self, padding_lengths: Dict[str, int]) -> TextFieldTensors:
        lengths = dict(padding_lengths)
        positions = self.word_positions(lengths.pop("num_windows"), lengths.pop("window_length"))
        # Shape: (num_windows, window_length)
        indices = torch.from_numpy(positions)
        # Padding of a window is the padding behind the text, of which there is one more.
        indices = indices.masked_fill(indices < 0, len(self.tokens))
        tensors = super().as_tensor(lengths)
        return {
            indexer_name: {
                name: _with_padding_behind(tensor)[indices] for name, tensor in by_name.items()
            }
            for indexer_name, by_name in tensors.items()
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
        padded = numpy.zeros((shape[0], 2), dtype=numpy.int64)
        padded[: len(self.windows)] = self.windows
        starts, ends = padded[:, :1], padded[:, 1:]
        # Shape: (num_windows, window_length)
        positions = starts + numpy.arange(shape[1])
        return numpy.where(positions < ends, positions, -1)

    @overrides
    def empty_field(self) -> "WindowedTextField":
        empty = WindowedTextField([], [], self._token_indexers)
        empty._indexed_tokens = super().empty_field()._indexed_tokens
        return empty

    @overrides
    def duplicate(self) -> "WindowedTextField":
        plain = super().duplicate()
        new = WindowedTextField(plain.tokens, [], plain._token_indexers)
        new.windows = self.windows.copy()
        new._indexed_tokens = plain._indexed_tokens
        return new


def _with_padding_behind(tensor: torch.Tensor) -> torch.Tensor:
    # Shape: (num_tokens + 1, ...)
    return torch.cat([tensor, tensor.new_zeros((1, *tensor.shape[1:]))])

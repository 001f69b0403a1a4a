import torch
from allennlp.modules.seq2vec_encoders import Seq2VecEncoder
from overrides import overrides


@Seq2VecEncoder.register("character_cnn")
class CharacterCnnEncoder(Seq2VecEncoder):
    """
    The convolution of the character embedding layer of
    [Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603), after
    [Kim (2014)](https://arxiv.org/abs/1408.5882): `max_i ReLU(W [c_i; ...; c_{i+w-1}] + b)` over the
    windows `i` of a word, "max-pooled over the entire width".

    A window starts at each character of the word, and what it sees beyond the last one is zero. So a
    word shorter than the filters has features too (AllenNLP's `cnn` gives it zeros), and its vector
    does not depend on how far the batch pads it. (The authors convolve over 16 characters, of which
    the padding has a trained vector, so that short words have features there too.)

    Registered as a `Seq2VecEncoder` with name "character_cnn".

    # Parameters

    embedding_dim : `int`
        The size of a character vector.
    num_filters : `int`, optional (default = `100`)
        The size of a word vector.
    filter_width : `int`, optional (default = `5`)
        `w`, characters in a window.
    dropout : `float`, optional (default = `0.0`)
        Applied to the character vectors (the paper: 0.2).
    """

    def __init__(
        self,
        embedding_dim: int,
        num_filters: int = 100,
        filter_width: int = 5,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self._embedding_dim = embedding_dim
        self._num_filters = num_filters
        self._filter_width = filter_width
        self._dropout = torch.nn.Dropout(dropout)
        self._convolution = torch.nn.Conv1d(embedding_dim, num_filters, filter_width)

    @overrides
    def get_input_dim(self) -> int:
        return self._embedding_dim

    @overrides
    def get_output_dim(self) -> int:
        return self._num_filters

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """
        # Parameters

        tokens : `torch.Tensor`
            Character vectors, shape `(num_words, word_length, embedding_dim)`.
        mask : `torch.Tensor`
            Shape `(num_words, word_length)`: which characters are real.

        # Returns

        `torch.Tensor`
            Shape `(num_words, num_filters)`; zero for a word without characters.
        """
        # Shape: (num_words, word_length, embedding_dim)
        characters = self._dropout(tokens) * mask.unsqueeze(-1)
        # Shape: (num_words, embedding_dim, word_length + filter_width - 1)
        padded = torch.nn.functional.pad(characters.transpose(1, 2), (0, self._filter_width - 1))
        # ReLU leaves nothing below zero, so zero where there is no window changes no maximum.
        # Shape: (num_words, num_filters, word_length)
        features = self._convolution(padded).masked_fill_(mask.unsqueeze(1) == 0, 0.0)
        # The largest of the ReLUs is the ReLU of the largest, which is cheaper.
        # Shape: (num_words, num_filters)
        return torch.relu(features.amax(dim=-1))

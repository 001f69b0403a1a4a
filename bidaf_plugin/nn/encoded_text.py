from typing import NamedTuple

import torch


class EncodedText(NamedTuple):
    """
    A batch of texts after the first three layers.

    mask : `torch.BoolTensor`
        Shape `(batch_size, num_tokens)`.
    embedded : `torch.Tensor`
        `X` or `Q`, the word embedding layer's output, shape `(batch_size, num_tokens, embedding_dim)`.
    encoded : `torch.Tensor`
        `H` or `U`, the contextual layer's, shape `(batch_size, num_tokens, encoding_dim)`.
    """

    mask: torch.Tensor
    embedded: torch.Tensor
    encoded: torch.Tensor

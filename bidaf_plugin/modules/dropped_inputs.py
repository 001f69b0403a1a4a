"""
Dropout in front of a layer: the paper has it on the input of every LSTM and of the linear layers of the output.
The input of such a layer is often a concatenation, so the layers are given its parts.
"""

from typing import List, Sequence, Union

import torch
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

from bidaf_plugin.modules.seq2seq_encoders.unpacked_lstm_encoder import (
    UnpackedLstmEncoder,
)
from bidaf_plugin.modules.seq2seq_encoders.unpacked_lstm_encoder import (
    concatenate as concatenate,
)

try:
    from bidaf_plugin.fast import scores
except ImportError:  # What is fast can be left out: the concatenation is then made and dropped.
    scores = None  # type: ignore[assignment]


# A tensor, or those that it is the concatenation of.
Parts = Union[torch.Tensor, Sequence[torch.Tensor]]


def as_parts(tensor: Parts) -> List[torch.Tensor]:
    return [tensor] if isinstance(tensor, torch.Tensor) else list(tensor)


def encode_dropped(
    encoder: Seq2SeqEncoder,
    dropout: torch.nn.Dropout,
    parts: Sequence[torch.Tensor],
    mask: torch.Tensor,
) -> torch.Tensor:
    """
    `encoder(dropout([part; part; ...]))`

    # Parameters

    encoder : `Seq2SeqEncoder`
    dropout : `Dropout`
    parts : `Sequence[torch.Tensor]`
        Shapes `(batch_size, length, size)`, or `(batch_size, 1, size)` for what all words have in common.
    mask : `torch.BoolTensor`
        Shape `(batch_size, length)`.

    # Returns

    `torch.Tensor`
        Shape `(batch_size, length, encoding_dim)`.
    """
    if isinstance(encoder, UnpackedLstmEncoder):
        return encoder(parts, mask, dropout.p if dropout.training else 0.0)
    return encoder(dropout(concatenate(parts)), mask)


def score_dropped(
    scorer: torch.nn.Linear, dropout: torch.nn.Dropout, parts: Sequence[torch.Tensor]
) -> torch.Tensor:
    """
    `w^T dropout([part; part; ...]) + b`

    # Parameters

    scorer : `torch.nn.Linear`
        With one output.
    dropout : `Dropout`
    parts : `Sequence[torch.Tensor]`
        Shapes `(batch_size, length, size)`.

    # Returns

    `torch.Tensor`
        Shape `(batch_size, length)`.
    """
    if scores is not None and scores.can_score(parts):
        return scores.score(scorer, parts, dropout.p if dropout.training else 0.0)
    return scorer(dropout(concatenate(parts))).squeeze(-1)

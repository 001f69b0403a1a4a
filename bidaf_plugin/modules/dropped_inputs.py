"""
Dropout in front of a layer: the paper has it on the input of every LSTM and of the linear layers of the output.
These layers are given the terms of what they read, which need not be concatenated (see `nn.concatenation`).
"""

import torch
from allennlp.modules.seq2seq_encoders import ComposeEncoder, Seq2SeqEncoder

from bidaf_plugin.modules.seq2seq_encoders.unpacked_lstm_encoder import UnpackedLstmEncoder
from bidaf_plugin.nn.concatenation import Terms, as_terms, concatenate

try:
    from bidaf_plugin.fast import scores
except ImportError:  # What is fast can be left out: the concatenation is then made and dropped.
    scores = None  # type: ignore[assignment]


def encode_dropped(
    encoder: Seq2SeqEncoder, dropout: torch.nn.Dropout, inputs: Terms, mask: torch.Tensor
) -> torch.Tensor:
    """
    `encoder(dropout(inputs), mask)`

    # Parameters

    encoder : `Seq2SeqEncoder`
    dropout : `Dropout`
    inputs : `Terms`
        Shape `(batch_size, length, input_dim)`, or the terms of their concatenation.
    mask : `torch.BoolTensor`
        Shape `(batch_size, length)`.

    # Returns

    `torch.Tensor`
        Shape `(batch_size, length, encoding_dim)`.
    """
    if isinstance(encoder, UnpackedLstmEncoder):
        return encoder(inputs, mask, dropout.p if dropout.training else 0.0)
    if isinstance(encoder, ComposeEncoder):
        first, *others = encoder.encoders
        # Shape: (batch_size, length, encoding_dim) of each
        encoded = encode_dropped(first, dropout, inputs, mask)
        for other in others:
            encoded = other(encoded, mask)
        return encoded
    return encoder(dropout(concatenate(inputs)), mask)


def score_dropped(
    scorer: torch.nn.Linear, dropout: torch.nn.Dropout, inputs: Terms
) -> torch.Tensor:
    """
    `w^T dropout(inputs) + b`

    # Parameters

    scorer : `torch.nn.Linear`
        With one output.
    dropout : `Dropout`
    inputs : `Terms`
        Shape `(batch_size, length, input_dim)`, or the terms of their concatenation.

    # Returns

    `torch.Tensor`
        Shape `(batch_size, length)`.
    """
    terms = as_terms(inputs)
    if scores is not None and scores.can_run(terms[0]):
        return scores.score(scorer, terms, dropout.p if dropout.training else 0.0)
    return scorer(dropout(concatenate(terms))).squeeze(-1)

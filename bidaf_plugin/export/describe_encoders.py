"""
Encoders (LSTMs and what can stand before or in place of them) in the terms of `standalone.encoders`.
"""

from typing import Dict, List

import torch
from allennlp.modules.seq2seq_encoders import (
    ComposeEncoder,
    LstmSeq2SeqEncoder,
    PytorchSeq2SeqWrapper,
    Seq2SeqEncoder,
)

from bidaf_plugin.export.description import (
    Description,
    check_type,
    join_tensors,
    plain_tensors,
    refuse,
    with_prefix,
)
from bidaf_plugin.modules.seq2seq_encoders import (
    DynamicAttentionEncoder,
    SelfAttentionEncoder,
    UnpackedLstmEncoder,
)


def describe_encoder(encoder: Seq2SeqEncoder, place: str) -> List[Description]:
    """The layers that an encoder is made of; `place` names it in messages."""
    if type(encoder) is ComposeEncoder:
        return [layer for part in encoder.encoders for layer in describe_encoder(part, place)]
    if type(encoder) is SelfAttentionEncoder:
        return [Description({"type": "self_attention"}, plain_tensors(encoder))]
    if type(encoder) is DynamicAttentionEncoder:
        return [_describe_dynamic_attention(encoder)]
    if type(encoder) is UnpackedLstmEncoder:
        return [_describe_lstm(encoder.to_torch(), place)]
    check_type(
        encoder,
        (
            UnpackedLstmEncoder,
            LstmSeq2SeqEncoder,
            PytorchSeq2SeqWrapper,
            SelfAttentionEncoder,
            DynamicAttentionEncoder,
            ComposeEncoder,
        ),
        place,
    )
    check_type(encoder._module, (torch.nn.LSTM,), place)
    if encoder.stateful:
        refuse(place, "'stateful'")
    return [_describe_lstm(encoder._module, place)]


def _describe_lstm(lstm: torch.nn.LSTM, place: str) -> Description:
    if not lstm.bidirectional:
        refuse(place, "an LSTM of one direction")
    if not lstm.bias or lstm.proj_size:
        refuse(place, "an LSTM without biases or with a projection")
    tensors: Dict[str, torch.Tensor] = {}
    for layer in range(lstm.num_layers):
        for direction, suffix in (("forward", ""), ("backward", "_reverse")):
            weights = {
                name: getattr(lstm, f"{name}_l{layer}{suffix}").detach()
                for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            }
            tensors.update(with_prefix(f"{layer}.{direction}", weights))
    return Description({"type": "bilstm"}, tensors)


def _describe_dynamic_attention(encoder: DynamicAttentionEncoder) -> Description:
    directions = {"forward": encoder._forward_layers, "backward": encoder._backward_layers}
    tensors: Dict[str, torch.Tensor] = {}
    for direction, layers in directions.items():
        for number, layer in enumerate(layers):
            tensors.update(with_prefix(f"{number}.{direction}", plain_tensors(layer)))
    return Description({"type": "dynamic_attention"}, tensors)


def describe_part(name: str, encoder: Seq2SeqEncoder, place: str) -> Description:
    """An encoder as the part `name` of a larger whole."""
    layers = describe_encoder(encoder, place)
    return Description({name: [layer.settings for layer in layers]}, join_tensors(name, layers))

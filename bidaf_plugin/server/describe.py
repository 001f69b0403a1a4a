from typing import Dict, Type

import torch
from allennlp.models import Model
from allennlp.modules.matrix_attention import (
    BilinearMatrixAttention,
    DotProductMatrixAttention,
    LinearMatrixAttention,
    MatrixAttention,
)

from bidaf_plugin.archives import AttentionFlowEnsemble
from bidaf_plugin.modules import BiAttention
from bidaf_plugin.modules.fusion import MlpFusion
from bidaf_plugin.modules.matrix_attention import LinearAfterMlpMatrixAttention

# In the words of the choice `alpha` of the config files.
_ALPHAS: Dict[Type[MatrixAttention], str] = {
    LinearMatrixAttention: "linear",
    DotProductMatrixAttention: "dot",
    BilinearMatrixAttention: "bilinear",
    LinearAfterMlpMatrixAttention: "linear_after_mlp",
}


def describe_model(model: Model) -> str:
    """What tells a model from its variants, in a few words."""
    if isinstance(model, AttentionFlowEnsemble):
        return f"{len(model.members)} models together"
    words = [_describe_attention(model)]
    if getattr(model._output_layer, "no_answer", False):
        words.append("knows questions without an answer")
    millions = sum(parameter.numel() for parameter in _trained_parameters(model)) / 1e6
    return ", ".join([*words, f"{millions:.1f} million parameters"])


def _describe_attention(model: Model) -> str:
    attention = model._attention
    if not isinstance(attention, BiAttention):
        return "dynamic attention"
    similarity = attention._similarity
    alpha = _ALPHAS.get(type(similarity), type(similarity).__name__)
    if isinstance(similarity, LinearMatrixAttention) and "x*y" in similarity._combination:
        alpha = "trilinear"
    words = [
        f"alpha {alpha}",
        f"beta {'mlp' if isinstance(attention._fusion, MlpFusion) else 'concat'}",
    ]
    if not attention._context_to_query:
        words.append("no context-to-query attention")
    if not attention._fusion.uses_attended_passage():
        words.append("no query-to-context attention")
    if attention._hops:
        words.append(f"{len(attention._hops) + 1} hops")
    return ", ".join(words)


def _trained_parameters(model: Model) -> "list[torch.nn.Parameter]":
    """All but word vectors, of which there are as many as the vocabulary has words."""
    return [
        parameter
        for name, parameter in model.named_parameters()
        if not name.startswith("_text_field_embedder.token_embedder_tokens.")
    ]

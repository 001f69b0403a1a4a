"""
A model "attention_flow" for spans in the terms of `standalone.network`.
"""

from typing import Any, Dict, Optional

import torch
from allennlp.data import TokenIndexer
from allennlp.modules.matrix_attention import (
    BilinearMatrixAttention,
    DotProductMatrixAttention,
    LinearMatrixAttention,
    MatrixAttention,
)

from bidaf_plugin.export.describe_embedders import describe_embedders
from bidaf_plugin.export.describe_encoders import describe_part
from bidaf_plugin.export.description import (
    Description,
    check_type,
    join_tensors,
    plain_tensors,
    refuse,
    with_prefix,
)
from bidaf_plugin.models import AttentionFlow
from bidaf_plugin.modules import BiAttention
from bidaf_plugin.modules.fusion import ConcatFusion, MlpFusion
from bidaf_plugin.modules.matrix_attention import LinearAfterMlpMatrixAttention
from bidaf_plugin.modules.output_layers import SpanOutputLayer

_TYPE_OF_SIMILARITY = {
    LinearMatrixAttention: "linear",
    DotProductMatrixAttention: "dot_product",
    BilinearMatrixAttention: "bilinear",
    LinearAfterMlpMatrixAttention: "linear_after_mlp",
}
_TERMS = {"x", "y", "x*y"}


def describe_network(model: AttentionFlow, indexers: Dict[str, TokenIndexer]) -> Description:
    """
    # Parameters

    model : `AttentionFlow`
    indexers : `Dict[str, TokenIndexer]`
        Those of the reader.
    """
    check_type(model, (AttentionFlow,), "the model")
    embedders = describe_embedders(model._text_field_embedder, indexers, model.vocab)
    parts = [
        describe_part("contextual", model._contextual_layer, "contextual_layer"),
        _describe_attention(model._attention),
        describe_part("modeling", model._modeling_layer, "modeling_layer"),
        _describe_output(model._output_layer),
    ]
    settings: Dict[str, Any] = {"embedders": [embedder.settings for embedder in embedders]}
    tensors = join_tensors("embedders", embedders)
    for number, layer in enumerate(model._highway._layers):
        tensors.update(with_prefix(f"highway.{number}", layer.state_dict()))
    for part in parts:
        settings.update(part.settings)
        tensors.update(part.tensors)
    # Safetensors wants each tensor in a memory of its own.
    return Description(
        settings,
        {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()},
    )


def _describe_attention(attention: Optional[BiAttention]) -> Description:
    if attention is None:
        return Description({"attention": None}, {})
    check_type(attention, (BiAttention,), "attention")
    check_type(attention._fusion, (ConcatFusion, MlpFusion), "attention.fusion")
    similarity = _describe_similarity(attention._similarity)
    tensors = with_prefix("similarity", similarity.tensors)
    if isinstance(attention._fusion, MlpFusion):
        tensors.update(with_prefix("fusion", attention._fusion._linear.state_dict()))
    for number, hop in enumerate(attention._hops):
        tensors.update(with_prefix(f"hops.{number}", hop.state_dict()))
    settings = {
        "similarity": similarity.settings,
        "context_to_query": attention._context_to_query,
        "query_to_context": attention._fusion.uses_attended_passage(),
    }
    return Description({"attention": settings}, with_prefix("attention", tensors))


def _describe_similarity(similarity: MatrixAttention) -> Description:
    place = "attention.similarity"
    check_type(similarity, tuple(_TYPE_OF_SIMILARITY), place)
    settings: Dict[str, Any] = {"type": _TYPE_OF_SIMILARITY[type(similarity)]}
    if isinstance(similarity, LinearMatrixAttention):
        settings["terms"] = similarity._combination.split(",")
        if not _TERMS.issuperset(settings["terms"]):
            refuse(place, f"the combination {similarity._combination!r}")
    if isinstance(similarity, BilinearMatrixAttention) and (
        similarity._use_input_biases or similarity._weight_matrix.dim() != 2
    ):
        refuse(place, "'use_input_biases' or 'label_dim'")
    activation = getattr(similarity, "_activation", None)
    # Shape: (2,)
    signs = torch.tensor([-2.0, 2.0])
    if activation is not None and not torch.equal(activation(signs), signs):
        refuse(place, "an 'activation'")
    return Description(settings, plain_tensors(similarity))


def _describe_output(layer: SpanOutputLayer) -> Description:
    check_type(layer, (SpanOutputLayer,), "output_layer")
    encoder = describe_part("end_encoder", layer._end_encoder, "output_layer.end_encoder")
    tensors = {
        **encoder.tensors,
        **with_prefix("start_scorer", layer._start_scorer.state_dict()),
        **with_prefix("end_scorer", layer._end_scorer.state_dict()),
    }
    if layer._no_answer_logits is not None:
        tensors["no_answer_logits"] = layer._no_answer_logits
    settings = {
        **encoder.settings,
        "end_input": layer._end_input,
        "temperature": layer.temperature,
    }
    return Description({"output": settings}, with_prefix("output", tensors))

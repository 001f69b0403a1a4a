from overrides import overrides

from bidaf_plugin.modules.output_layers import OutputLayer, SpanOutputLayer
from bidaf_plugin.nn.passage_vectors import PassageVectors, WholeVectors


@OutputLayer.register("plain_span")
class PlainSpanOutputLayer(SpanOutputLayer):
    """
    The output layer "span" without its shortcuts: `[G; M]`, `[G; M2]` and `[G; M; a; M * a]` are each one
    tensor, which scorers and end layer read as it is.

    Registered as an `OutputLayer` with name "plain_span".
    """

    @overrides
    def _join(self, query_aware_passage: PassageVectors, others: PassageVectors) -> PassageVectors:
        return WholeVectors(super()._join(query_aware_passage, others).whole())

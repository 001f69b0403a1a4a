from bidaf_plugin.modules.output_layers.cloze_output_layer import (
    ClozeOutputLayer as ClozeOutputLayer,
)
from bidaf_plugin.modules.output_layers.output_layer import OutputLayer as OutputLayer
from bidaf_plugin.modules.output_layers.span_output_layer import SpanOutputLayer as SpanOutputLayer

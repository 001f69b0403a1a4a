from bidaf_plugin.modules.matrix_attention.linear_after_mlp_matrix_attention import (
    LinearAfterMlpMatrixAttention as LinearAfterMlpMatrixAttention,
)

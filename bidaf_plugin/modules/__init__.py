from bidaf_plugin.modules.bi_attention import BiAttention as BiAttention
from bidaf_plugin.modules.each_text_once_embedder import (
    EachTextOnceEmbedder as EachTextOnceEmbedder,
)
from bidaf_plugin.modules.ensemble_rules import EnsembleRule as EnsembleRule
from bidaf_plugin.modules.fusion import Fusion as Fusion
from bidaf_plugin.modules.matrix_attention import (
    LinearAfterMlpMatrixAttention as LinearAfterMlpMatrixAttention,
)
from bidaf_plugin.modules.output_layers import OutputLayer as OutputLayer
from bidaf_plugin.modules.seq2seq_encoders import UnpackedLstmEncoder as UnpackedLstmEncoder
from bidaf_plugin.modules.seq2vec_encoders import CharacterCnnEncoder as CharacterCnnEncoder
from bidaf_plugin.modules.token_embedders import FixedAndTrainedEmbedder as FixedAndTrainedEmbedder

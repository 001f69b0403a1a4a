from bidaf_plugin.modules.seq2seq_encoders.dynamic_attention_encoder import (
    DynamicAttentionEncoder as DynamicAttentionEncoder,
)
from bidaf_plugin.modules.seq2seq_encoders.dynamic_attention_encoder import (
    QuestionAwareEncoder as QuestionAwareEncoder,
)
from bidaf_plugin.modules.seq2seq_encoders.self_attention_encoder import (
    SelfAttentionEncoder as SelfAttentionEncoder,
)
from bidaf_plugin.modules.seq2seq_encoders.unpacked_lstm_encoder import (
    UnpackedLstmEncoder as UnpackedLstmEncoder,
)

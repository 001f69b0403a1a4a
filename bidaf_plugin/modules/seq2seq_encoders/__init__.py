from bidaf_plugin.modules.seq2seq_encoders.unpacked_lstm_encoder import (
    UnpackedLstmEncoder as UnpackedLstmEncoder,
)

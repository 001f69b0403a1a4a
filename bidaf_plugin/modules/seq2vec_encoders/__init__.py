from bidaf_plugin.modules.seq2vec_encoders.character_cnn_encoder import (
    CharacterCnnEncoder as CharacterCnnEncoder,
)

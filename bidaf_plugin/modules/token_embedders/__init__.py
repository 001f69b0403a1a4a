from bidaf_plugin.modules.token_embedders.fixed_and_trained_embedder import (
    FixedAndTrainedEmbedder as FixedAndTrainedEmbedder,
)

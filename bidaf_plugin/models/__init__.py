from bidaf_plugin.models.attention_flow import AttentionFlow as AttentionFlow
from bidaf_plugin.models.attention_flow_ensemble import (
    AttentionFlowEnsemble as AttentionFlowEnsemble,
)

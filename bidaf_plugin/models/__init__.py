from bidaf_plugin.models.attention_flow import AttentionFlow as AttentionFlow

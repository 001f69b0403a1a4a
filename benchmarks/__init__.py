"""
Ours and the BiDAF of allennlp-models, measured side by side: see README.md in this folder.
"""

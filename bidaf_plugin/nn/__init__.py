"""
Functions on tensors that several rooms share: best spans and answers, entities, words of two texts,
concatenations.
"""

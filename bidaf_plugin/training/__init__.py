"""
Metrics, and runs that go on where they were interrupted. What repairs AllenNLP's trainer is in `upstream`.
"""

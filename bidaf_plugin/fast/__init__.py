"""
What makes the network faster on a CPU and changes no result but by rounding. The network works without
this folder.
"""

"""
Errors and files: what every room may use. It imports nothing of the package.
"""

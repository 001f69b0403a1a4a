"""
`allennlp bidaf serve`: models behind an HTTP API, and a page that uses it. Nothing here is imported before
the command runs.
"""

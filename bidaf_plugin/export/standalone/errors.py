class ExportedModelError(ValueError):
    """A file that is no whole exported model, or a question that cannot be used: one sentence."""

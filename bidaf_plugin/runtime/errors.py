class ExportedModelError(ValueError):
    """What is wrong with an exported model, in one sentence."""


class QuestionError(ExportedModelError):
    """What is wrong with a question, or with what is said of how to answer it, in one sentence."""

"""
Which words of a question and of its passage are the same.
"""

from typing import Optional, Tuple

from allennlp.data import TextFieldTensors

from bidaf_plugin.runtime.word_rows import NO_MATCH, mark_forms


def mark_matches(
    question: TextFieldTensors, passage: TextFieldTensors
) -> Tuple[TextFieldTensors, TextFieldTensors]:
    """
    In the place of the numbers of a `WordFormsIndexer`, shape `(batch_size, num_tokens, num_forms)`, both texts
    get one of `1` to `8` for each word, `1` for a word that the other text does not have. Without such an
    indexer they stay as they are.
    """
    key = _forms_key(question)
    if key is None:
        return question, passage
    # Shape: (batch_size, question_length, num_forms) and (batch_size, passage_length, num_forms)
    question_forms, passage_forms = question[key]["tokens"], passage[key]["tokens"]
    marked = [
        {**text, key: {"tokens": mark_forms(forms, others)}}
        for text, forms, others in (
            (question, question_forms, passage_forms),
            (passage, passage_forms, question_forms),
        )
    ]
    return marked[0], marked[1]


def mark_alone(text: TextFieldTensors) -> TextFieldTensors:
    """A text without another one shares no word with it."""
    key = _forms_key(text)
    if key is None:
        return text
    # Shape: (batch_size, num_tokens)
    is_word = text[key]["tokens"][..., 0] != 0
    return {**text, key: {"tokens": is_word * NO_MATCH}}


def _forms_key(text: TextFieldTensors) -> Optional[str]:
    """The indexer whose numbers have the shape that is only theirs: ids of words have no third dimension."""
    keys = [key for key, tensors in text.items() if tensors.keys() == {"tokens"}]
    return next((key for key in keys if text[key]["tokens"].dim() == 3), None)

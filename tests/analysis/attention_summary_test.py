import numpy

from bidaf_plugin.analysis.attention_summary import summarize_attention
from tests.analysis.attention_helpers import make_attention


class TestSummarizeAttention:
    def test_the_passage_with_the_weights_that_can_be_seen(self) -> None:
        # Shape: (4,)
        weights = numpy.array([0.01, 0.2, 0.8, 0.0])
        summary = summarize_attention(make_attention(passage_weights=weights))
        assert summary.passage == [("w0 ", 0), ("w1", 0.25), (" ", 0), ("w2", 1), (" w3", 0)]

    def test_the_words_that_attend_most_to_each_question_word(self) -> None:
        # The columns are the passage words.
        # Shape: (2, 4)
        matrix = numpy.array([[0.9, 0.4, 0.8, 0.8], [0.1, 0.2, 0.2, 0.2]])
        words = ["w0", "w1", "w0", "w3"]
        summary = summarize_attention(make_attention(matrix=matrix, passage_words=words))
        # Each once, the strongest first; nothing attends to the second word of the question.
        assert summary.question_words == [("Why", ["w0", "w3", "w1"])]

    def test_a_model_without_weights_of_the_passage(self) -> None:
        attention = make_attention(passage_weights=None)
        assert summarize_attention(attention).passage == [(attention.passage, 0)]

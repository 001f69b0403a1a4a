from bidaf_plugin.data.fields import AnswerSpansField
from bidaf_plugin.data.fields.answer_spans_field import IMPOSSIBLE


class TestAnswerSpansField:
    def test_becomes_a_tensor_padded_with_minus_one(self) -> None:
        fields = [AnswerSpansField([(0, 1), (2, 2)]), AnswerSpansField([(5, 7)])]
        tensors = [field.as_tensor({"num_answers": 3}) for field in fields]
        assert fields[0].batch_tensors(tensors).tolist() == [
            [[0, 1], [2, 2], [-1, -1]],
            [[5, 7], [-1, -1], [-1, -1]],
        ]
        assert fields[0].get_padding_lengths() == {"num_answers": 2}
        assert fields[1].array.tolist() == [[5, 7]]

    def test_no_answer_is_one_span_of_minus_one(self) -> None:
        field = AnswerSpansField([])
        assert field.array.tolist() == [[-1, -1]]
        assert field == field.empty_field() != AnswerSpansField([(0, 0)])

    def test_an_impossible_question_is_told_from_one_without_known_answers(self) -> None:
        field = AnswerSpansField([IMPOSSIBLE])
        assert field.as_tensor({"num_answers": 2}).tolist() == [[-2, -2], [-1, -1]]

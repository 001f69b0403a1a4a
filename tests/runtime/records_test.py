import dataclasses

import pytest

from bidaf_plugin.predictors import Answer, Answers

ADA = Answer("Ada", 0.5, 7, 10, 2, 2, passage_index=1)
BOB = Answer("Bob", 0.25, 0, 3, 0, 0)


class TestAnswers:
    def test_an_answer_survives_json(self) -> None:
        assert Answer.from_json(ADA.to_json()) == ADA
        assert ADA.to_json() == {
            "text": "Ada",
            "probability": 0.5,
            "characters": [7, 10],
            "tokens": [2, 2],
            "passage_index": 1,
        }

    def test_an_ensemble_s_reader_may_have_no_token_there(self) -> None:
        answer = dataclasses.replace(ADA, first_token=None, last_token=None)
        assert answer.to_json()["tokens"] is None
        assert Answer.from_json(answer.to_json()) == answer
        record = {"id": 1, "best_span": None, "best_span_characters": [7, 10]}
        assert Answers.from_json({**record, "n_best": [answer.to_json()]}).best == answer

    def test_is_a_sequence_that_cannot_be_changed(self) -> None:
        answers = Answers((ADA, BOB))
        assert len(answers) == 2 and list(answers) == [ADA, BOB]
        assert answers[1] is BOB and answers[:1] == (ADA,) and BOB in answers
        assert answers.best is ADA
        with pytest.raises(dataclasses.FrozenInstanceError):
            answers.id = 3  # type: ignore[misc]
        with pytest.raises(dataclasses.FrozenInstanceError):
            ADA.text = "Eve"  # type: ignore[misc]

    def test_there_may_be_no_answer(self) -> None:
        record = {
            "id": 3,
            "best_span": None,
            "best_span_characters": None,
            "n_best": [ADA.to_json()],
            "no_answer_probability": 0.9,
        }
        answers = Answers.from_json(record)
        assert answers.best is None
        assert answers.n_best == (ADA,)
        assert (answers.no_answer_probability, answers.id) == (0.9, 3)

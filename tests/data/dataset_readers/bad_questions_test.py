import logging

import pytest

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.bad_questions import BadQuestions
from bidaf_plugin.data.dataset_readers.cloze_question import QuestionError


class TestBadQuestions:
    def test_strict_stops_at_the_first(self) -> None:
        with pytest.raises(QuestionError, match="a: bad"):
            BadQuestions(skip=False).handle(QuestionError("a: bad", "bad"))

    def test_skipped_ones_are_counted_by_kind(self, caplog: pytest.LogCaptureFixture) -> None:
        bad = BadQuestions(skip=True, max_named=2)
        assert bad.summary() == "no questions skipped"
        for number in range(1000):
            bad.handle(QuestionError(f"{number}: bad", "bad"))
        for name in "abc":
            bad.handle(QuestionError(f"{name}: worse", "worse"))
        assert bad.counts == {"bad": 1000, "worse": 3}
        assert bad.summary() == "1,003 questions skipped: 1,000 bad, 3 worse"
        with caplog.at_level(logging.WARNING):
            bad.report("data", 7)
        # The first two of each kind are named, then there is the sum.
        assert [record.getMessage() for record in caplog.records] == [
            "skipped: 0: bad",
            "skipped: 1: bad",
            "skipped: a: worse",
            "skipped: b: worse",
            "data: 1,003 questions skipped: 1,000 bad, 3 worse; 7 read",
        ]

    def test_all_is_too_many(self) -> None:
        bad = BadQuestions(skip=True)
        bad.handle(QuestionError("a: bad", "bad"))
        with pytest.raises(DataError, match="data: not one question can be used; 1 questions"):
            bad.report("data", 0)

    def test_all_of_a_share_is_not(self, caplog: pytest.LogCaptureFixture) -> None:
        bad = BadQuestions(skip=True)
        bad.handle(QuestionError("a: bad", "bad"))
        bad.report("data", 0, is_share=True)
        assert caplog.records[-1].getMessage() == "data: 1 questions skipped: 1 bad; 0 read"

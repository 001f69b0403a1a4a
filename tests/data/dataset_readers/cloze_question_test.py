import logging
from typing import List

import pytest

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers import cloze_question
from bidaf_plugin.data.dataset_readers.cloze_question import (
    BadQuestions,
    QuestionError,
    parse_question,
    split_words,
)
from tests.cloze_helpers import ARTICLE, QUESTION, question_text


def parse(text: str, needs_answer: bool = True):  # type: ignore[no-untyped-def]
    return parse_question(text.encode("utf-8"), "x.question", "x", needs_answer)


class TestParseQuestion:
    def test_all_parts(self) -> None:
        question = parse(question_text())
        assert question == (
            "x.question",
            "x",
            "http://example.org/1",
            ARTICLE,
            QUESTION,
            "@entity1",
            # Split at the first colon only.
            {"@entity1": "Ada Orn", "@entity2": "Bo: the second"},
        )

    def test_the_entity_map_may_be_empty_or_missing(self) -> None:
        assert parse(question_text(entity_map="")).names == {}
        without_map = f"url\n\n{ARTICLE}\n\n{QUESTION}\n\n@entity1\n"
        assert parse(without_map).answer == "@entity1"

    def test_windows_line_ends(self) -> None:
        assert parse(question_text().replace("\n", "\r\n")) == parse(question_text())

    def test_other_line_separators_do_not_end_lines(self) -> None:
        # U+2028 ends lines for str.splitlines, but not in these files.
        assert "\u2028" in parse(question_text(article=f"{ARTICLE} \u2028 end")).article

    def test_the_answer_may_be_unknown(self) -> None:
        assert parse(question_text(answer=""), needs_answer=False).answer is None
        assert parse(f"url\n\n{ARTICLE}\n\n{QUESTION}\n", needs_answer=False).answer is None

    @pytest.mark.parametrize(
        "text, kind, words",
        [
            ("", "missing parts", ["article", "missing"]),
            ("url\n\n" + ARTICLE, "missing parts", ["question", "missing"]),
            (f"url\n\n{ARTICLE}\n\n{QUESTION}", "missing parts", ["answer", "missing"]),
            (question_text(article=" "), "missing parts", ["article"]),
            (f"url\n{ARTICLE}\n\n{QUESTION}\n\n@entity1", "missing parts", ["URL", "one line"]),
            (question_text(answer="Ada Orn"), "answer is no entity", ["Ada Orn", "@entity3"]),
            (question_text(answer="@entity1 @entity2"), "answer is no entity", ["@entity1"]),
            (question_text(answer="@entity٣"), "answer is no entity", []),
            (question_text(question="who met ?"), "no placeholder", ["@placeholder"]),
            (question_text(question="@placeholders met"), "no placeholder", []),
            (
                question_text(question="@placeholder met @placeholder"),
                "several placeholders",
                ["2 times @placeholder"],
            ),
            (
                question_text(entity_map="@entity1 Ada Orn"),
                "bad entity map",
                ["@entity1 Ada Orn", "@entityN:name"],
            ),
            (question_text(entity_map="entity1:Ada"), "bad entity map", ["entity1:Ada"]),
        ],
    )
    def test_bad_files_are_named_with_the_reason(
        self, text: str, kind: str, words: list[str]
    ) -> None:
        with pytest.raises(QuestionError) as caught:
            parse(text)
        assert caught.value.kind == kind
        assert str(caught.value).startswith("x.question: ")
        for word in words:
            assert word in str(caught.value)

    def test_not_utf_8(self) -> None:
        with pytest.raises(QuestionError, match="byte 22") as caught:
            parse_question(b"http://example.org/1\n\n\xe9", "x.question", "x")
        assert caught.value.kind == "not UTF-8"


class TestSplitWords:
    def test_text_of_the_data_stays_as_it_is(self) -> None:
        text = "( @entity0 ) -- it 's @entity1 's , @ home u.s. @handle"
        assert split_words(text) == text.split()

    def test_only_words_with_a_name_are_looked_at_twice(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looked_at: List[str] = []

        class NotingPattern:
            def split(self, chunk: str) -> List[str]:
                looked_at.append(chunk)
                return [chunk]

        monkeypatch.setattr(cloze_question, "_GLUED_NAMES", NotingPattern())
        split_words("it 's (@entity3) @entity2 , @placeholder ( or ) so")
        assert looked_at == ["(@entity3)"]

    def test_names_are_cut_off_from_punctuation(self) -> None:
        assert split_words("(@entity3's) @placeholder, x@entity1.com @entity2s") == [
            "(", "@entity3", "'s)", "@placeholder", ",", "x@entity1.com", "@entity2s",
        ]  # fmt: skip
        assert split_words("(@entity1@entity2@placeholder) @entity1@entity2x") == [
            "(", "@entity1", "@entity2", "@placeholder", ")", "@entity1", "@entity2x",
        ]  # fmt: skip


class TestBadQuestions:
    def test_strict_stops_at_the_first(self) -> None:
        with pytest.raises(QuestionError, match="a: bad"):
            BadQuestions(skip=False).handle(QuestionError("a: bad", "bad"))

    def test_skipped_ones_are_counted_by_kind(
        self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cloze_question, "_MAX_NAMED", 2)
        bad = BadQuestions(skip=True)
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

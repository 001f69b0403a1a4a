import csv
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from bidaf_plugin.analysis.formats import (
    align_columns,
    file_name,
    markdown_table,
    render,
    write_csv,
)
from tests.html_helpers import HOSTILE, Page, needs_chromium, open_in_chromium


def test_words_are_flush_left_and_numbers_flush_right() -> None:
    assert align_columns([["word", "n"], ["a", "1,000"], ["", ""]]) == "\n".join(
        ["word      n", "a     1,000", ""]
    )


def test_numbers_get_commas_or_two_decimals() -> None:
    table = align_columns([["", "n", "EM"], ["all", 10_570, 2 / 3]])
    assert table.splitlines()[1].split() == ["all", "10,570", "0.67"]


def test_markdown_keeps_its_cells_apart() -> None:
    table = markdown_table([["word", "number"], ["a|b", "1"]], numbers=[1])
    assert table.splitlines() == [
        "| word | number |", "|---|---:|", r"| a\|b | 1 |",
    ]  # fmt: skip


def test_every_id_makes_a_file_name() -> None:
    assert file_name("56be4db0acb8001400a502ec") == "56be4db0acb8001400a502ec"
    assert file_name("../../a b/<c>") == "_.._a_b__c_"
    assert file_name("") == file_name("..") == "attention"


class TestWriteCsv:
    def test_what_is_written_is_read(self, tmp_path: Path) -> None:
        rows = [["name", "text"], ["a", 'commas, "quotes"\nand lines'], ["é", "\u2028"]]
        for for_spreadsheets, encoding in ((False, "utf-8"), (True, "utf-8-sig")):
            path = tmp_path / "table.csv"
            write_csv(str(path), rows, for_spreadsheets)
            with open(path, encoding=encoding, newline="") as file:
                assert list(csv.reader(file)) == rows
        assert path.read_bytes().startswith(b"\xef\xbb\xbf")

    def test_a_spreadsheet_program_finds_no_formula(self, tmp_path: Path) -> None:
        formulas = ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t1", "\r=1", "\uff1d1", "='a'!A1"]
        texts = ["1-1", "a=b", "", "'=1", "Ada"]
        write_csv(str(tmp_path / "table.csv"), [formulas, texts])
        with open(tmp_path / "table.csv", encoding="utf-8", newline="") as file:
            assert list(csv.reader(file)) == [[f"'{cell}" for cell in formulas], texts]

    def test_numbers_are_no_formulas(self, tmp_path: Path) -> None:
        write_csv(str(tmp_path / "table.csv"), [[-1, -0.5, "-1", None]])
        assert (tmp_path / "table.csv").read_bytes() == b"-1,-0.5,'-1,\r\n"

    def test_half_a_character_can_be_written(self, tmp_path: Path) -> None:
        write_csv(str(tmp_path / "table.csv"), [["\ud800"]])
        assert (tmp_path / "table.csv").read_text() == "?\n"


class TestRender:
    def test_values_are_text_wherever_they_stand(self) -> None:
        page = Page(render("base.html", title=HOSTILE, data={HOSTILE: [HOSTILE]}))
        assert page.texts["title"] == page.texts["h1"] == [HOSTILE]
        assert page.count("script") == 1
        assert page.data == {HOSTILE: [HOSTILE]}
        page.assert_loads_nothing()

    def test_data_has_no_characters_that_mean_something_in_scripts(self) -> None:
        source = render("base.html", title="", data="<!-- </script> & \u2028 \u2029 '")
        (line,) = [line for line in source.splitlines() if 'id="data"' in line]
        content = line.partition(">")[2].removesuffix("</script>")
        assert not set("<>&'\u2028\u2029") & set(content)
        assert Page(source).data == "<!-- </script> & \u2028 \u2029 '"

    def test_the_order_of_data_is_kept(self) -> None:
        assert list(Page(render("base.html", title="", data={"b": 1, "a": 2})).data) == ["b", "a"]

    def test_a_page_without_data_has_no_script(self) -> None:
        assert Page(render("base.html", title="x")).count("script") == 0

    def test_what_is_missing_or_no_json_is_an_error(self) -> None:
        with pytest.raises(UndefinedError, match="title"):
            render("base.html")
        with pytest.raises(ValueError, match="JSON compliant"):
            render("base.html", title="", data=float("nan"))

    def test_half_a_character_can_be_written(self) -> None:
        render("base.html", title="\ud800").encode("utf-8")

    @needs_chromium
    def test_the_browser_runs_nothing_of_it(self, tmp_path: Path) -> None:
        path = tmp_path / "page.html"
        path.write_text(render("base.html", title=HOSTILE, data=HOSTILE), encoding="utf-8")
        page, complaints = open_in_chromium(path)
        assert complaints == ""
        assert page.texts["title"] == [HOSTILE]

import csv
from pathlib import Path

from bidaf_plugin.analysis.tables import align_columns, csv_text, markdown_table, write_csv


def test_words_are_flush_left_and_numbers_flush_right() -> None:
    assert align_columns([["word", "n"], ["a", "1,000"], ["", ""]]) == "\n".join(
        ["word      n", "a     1,000", ""]
    )


def test_markdown_keeps_its_cells_apart() -> None:
    table = markdown_table([["word", "number"], ["a|b", "1"]], numbers=[1])
    assert table.splitlines() == [
        "| word | number |", "|---|---:|", r"| a\|b | 1 |",
    ]  # fmt: skip


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

    def test_numbers_are_no_formulas(self) -> None:
        assert csv_text([[-1, -0.5, "-1", None]]) == "-1,-0.5,'-1,\r\n"

    def test_half_a_character_can_be_written(self, tmp_path: Path) -> None:
        write_csv(str(tmp_path / "table.csv"), [["\ud800"]])
        assert (tmp_path / "table.csv").read_text() == "?\n"

"""
Tables as plain text, as markdown and as CSV.
"""

import csv
import io
import re
from typing import Any, Collection, Iterable, Sequence

from bidaf_plugin.common.files import write_atomically

# Spreadsheet programs take such cells for formulas, which may call other programs. Some drop blanks
# before they look, and some know the wide forms of these characters. JavaScript reads it as well.
FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")


def align_columns(rows: Sequence[Sequence[str]]) -> str:
    """A table as plain text: the first column flush left, the others, which are numbers, flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [first.ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def markdown_table(rows: Sequence[Sequence[Any]], numbers: Collection[int] = ()) -> str:
    """A table in markdown; the columns `numbers`, counted from 0, are flush right."""
    header, *others = (
        "| " + " | ".join(str(cell).replace("|", r"\|") for cell in row) + " |" for row in rows
    )
    rule = "|".join("---:" if column in numbers else "---" for column in range(len(rows[0])))
    return "\n".join([header, f"|{rule}|", *others]) + "\n"


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """
    A table as CSV. An apostrophe stands before texts that spreadsheet programs would take for formulas;
    numbers are as they are.
    """
    content = io.StringIO()
    csv.writer(content).writerows(
        [f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell for cell in row]
        for row in rows
    )
    # Halves of characters (lone surrogates), which JSON files can hold, cannot be written.
    return content.getvalue().encode("utf-8", "replace").decode("utf-8")


def write_csv(path: str, rows: Iterable[Sequence[Any]], for_spreadsheets: bool = False) -> None:
    """
    Writes a CSV file, which is either whole or not there.

    # Parameters

    path : `str`
    rows : `Iterable[Sequence[Any]]`
        The first one has the names of the columns.
    for_spreadsheets : `bool`, optional (default = `False`)
        Whether to begin with the mark without which some programs take UTF-8 for something else.
    """
    write_atomically(path, "\ufeff" * for_spreadsheets + csv_text(rows))

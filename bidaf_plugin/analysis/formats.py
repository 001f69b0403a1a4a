"""
What people read: tables as plain text, as markdown and as CSV, and pages, which are single files that need no
server and no network.
"""

import csv
import io
import re
from typing import Any, Collection, Iterable, Sequence

from bidaf_plugin.common.files import write_atomically

# Spreadsheet programs take such cells for formulas, which may call other programs. Some drop blanks
# before they look, and some know the wide forms of these characters. JavaScript reads it as well.
FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")


def align_columns(rows: Sequence[Sequence[Any]]) -> str:
    """
    A table as plain text: the first column flush left, the others, which are numbers, flush right; those that are
    no texts yet with two decimals or, if they are whole, with commas.
    """
    rows = [[_cell_text(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [first.ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _cell_text(cell: Any) -> str:
    if isinstance(cell, float):
        return f"{cell:.2f}"
    return f"{cell:,}" if isinstance(cell, int) else cell


def markdown_table(rows: Sequence[Sequence[Any]], numbers: Collection[int] = ()) -> str:
    """A table in markdown; the columns `numbers`, counted from 0, are flush right."""
    header, *others = (
        "| " + " | ".join(str(cell).replace("|", r"\|") for cell in row) + " |" for row in rows
    )
    rule = "|".join("---:" if column in numbers else "---" for column in range(len(rows[0])))
    return "\n".join([header, f"|{rule}|", *others]) + "\n"


def write_csv(path: str, rows: Iterable[Sequence[Any]], for_spreadsheets: bool = False) -> None:
    """
    Writes a CSV file, whose first row has the names of the columns, and which is either whole or not there.
    An apostrophe stands before texts that spreadsheet programs would take for formulas; numbers are as they
    are. `for_spreadsheets` begins with the mark without which some programs take UTF-8 for something else.
    """
    content = io.StringIO()
    csv.writer(content).writerows(
        [f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell for cell in row]
        for row in rows
    )
    write_atomically(path, "\ufeff" * for_spreadsheets + _without_halves(content.getvalue()))


def file_name(id: str) -> str:
    """An id as the name of a file, whatever it is made of."""
    return re.sub(r"[^\w.-]", "_", id)[:100].lstrip(".") or "attention"


def render(template: str, **values: Any) -> str:
    """
    A page from `templates/`. Most templates extend `base.html`, which wants a `title` and embeds `data`,
    if there is any, as JSON for the page's script:
    `JSON.parse(document.getElementById("data").textContent)`.

    Every value is escaped, wherever in a template it stands: text from passages, questions or file
    names never becomes markup. A value that the template misses is an error, not an empty place.
    """
    # Commands that write no page import this module as well.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("bidaf_plugin.analysis"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # `tojson` escapes <, >, & and ', so that nothing ends a <script>, and with `ensure_ascii` also the
    # line separators U+2028 and U+2029. NaN is not JSON: browsers would refuse all of the data.
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": True, "allow_nan": False}
    return _without_halves(environment.get_template(template).render(**values))


def _without_halves(text: str) -> str:
    """Halves of characters (lone surrogates), which JSON files can hold, cannot be written."""
    return text.encode("utf-8", "replace").decode("utf-8")

"""
The six classes of errors of the paper's error analysis (Table 4 in its Appendix A), the sheet on which people
sort wrong answers into them, and what they found.
"""

import csv
import io
import os
from os import PathLike
from typing import Dict, List, NamedTuple, Optional, Sequence, Union

from bidaf_plugin.analysis.formats import FORMULA, align_columns, render, write_csv
from bidaf_plugin.analysis.wrong_answers import AnsweredQuestion
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import write_atomically
from bidaf_plugin.data.dataset_readers.squad_json import read_bytes

COLUMNS = ("id", "class", "note", "question", "prediction", "answers", "overlap", "passage")


# How many of 50 wrong answers of the paper's model are of each class, in percent. What the classes mean, with the
# paper's examples, is in the template of the page.
ERROR_CLASSES = {
    "Imprecise answer boundaries": 50,
    "Syntactic complications and ambiguities": 28,
    "Paraphrase problems": 14,
    "External knowledge": 4,
    "Multi-sentence": 2,
    "Incorrect preprocessing": 2,
}
IMPRECISE_BOUNDARIES = next(iter(ERROR_CLASSES))


def find_error_class(text: str) -> Optional[str]:
    """The class that somebody means: by its name, the beginning of it, or its number, 1 to 6."""
    text = text.strip().lower()
    found = [
        name
        for number, name in enumerate(ERROR_CLASSES, start=1)
        if text and (name.lower().startswith(text) or text == str(number))
    ]
    return found[0] if len(found) == 1 else None


class ErrorCounts(NamedTuple):
    """How many wrong answers are in each class, by its name, and how many are in none yet."""

    by_class: Dict[str, int]
    num_unsorted: int


def sheet_rows(sample: Sequence[AnsweredQuestion]) -> List[Dict[str, str]]:
    """The rows of the sheet; where the answer overlaps with a gold answer the class is filled in."""
    return [
        {
            "id": item.id,
            "class": IMPRECISE_BOUNDARIES if item.has_overlap else "",
            "note": "",
            "question": item.question,
            "prediction": item.prediction or "",
            "answers": " | ".join(item.answers),
            "overlap": "yes" if item.has_overlap else "no",
            "passage": item.passage_text,
        }
        for item in sample
    ]


def write_sheet(sample: Sequence[AnsweredQuestion], description: str, folder: str) -> List[str]:
    """Writes the sheet as a page and as CSV, and returns their paths."""
    os.makedirs(folder, exist_ok=True)
    paths = [os.path.join(folder, "errors.html"), os.path.join(folder, "errors.csv")]
    write_atomically(paths[0], sheet_as_html(sample, description))
    rows = [list(row.values()) for row in sheet_rows(sample)]
    write_csv(paths[1], [COLUMNS, *rows], for_spreadsheets=True)
    return paths


def sheet_as_html(sample: Sequence[AnsweredQuestion], description: str) -> str:
    """
    A page to read, tick and download the filled sheet from. When it is closed it keeps what was ticked, under
    the `description`, which says where the sample comes from.
    """
    return render(
        "errors.html",
        title="Error analysis",
        description=description,
        sample=sample,
        classes=ERROR_CLASSES,
        boundaries=IMPRECISE_BOUNDARIES,
        data={
            "key": description,
            "columns": COLUMNS,
            "formula": FORMULA.pattern,
            "rows": sheet_rows(sample),
            "classes": list(ERROR_CLASSES),
        },
    )


def read_sheet(path: Union[str, PathLike]) -> ErrorCounts:
    """
    Counts the classes of a filled sheet, with a `DataError` that names the line if one is none of the six.
    Spreadsheet programs write it with commas, semicolons or tabs.
    """
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text; save the sheet as CSV in UTF-8") from error
    header = text.partition("\n")[0]
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=header.count))
    if "class" not in (reader.fieldnames or ()):
        raise DataError(f"{path}: expected a CSV file with a column 'class', found {header!r:.80}")
    counts = dict.fromkeys(ERROR_CLASSES, 0)
    num_unsorted = 0
    try:
        for row in reader:
            value = (row["class"] or "").strip()
            error_class = find_error_class(value)
            if error_class is not None:
                counts[error_class] += 1
            elif not value:
                num_unsorted += 1
            else:
                raise DataError(
                    f"{path}, line {reader.line_num}: the class {value!r:.60} is not one of: "
                    f"{', '.join(counts)} (or 1 to 6)"
                )
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: not CSV ({error})") from error
    return ErrorCounts(counts, num_unsorted)


def error_table(counts: ErrorCounts) -> str:
    """The paper's table with the counts beside it."""
    total = sum(counts.by_class.values())
    rows = [["error type", "answers", "percent", "paper's percent"]]
    for name, paper_percent in ERROR_CLASSES.items():
        count = counts.by_class[name]
        percent = f"{100 * count / total:.0f}" if total else "-"
        rows.append([name, str(count), percent, str(paper_percent)])
    rows.append(["in all", str(total), "100" if total else "-", "100"])
    table = align_columns(rows)
    if counts.num_unsorted:
        table += f"\n\n{counts.num_unsorted:,} answers without a class are not counted."
    return table

"""
Answers that are no exact match, with what people need to see why; and the paper's error analysis (Table 4 in its
Appendix A): the sheet on which people sort wrong answers into six classes of errors, and what they found.
"""

import csv
import io
import os
import random
import re
from dataclasses import dataclass
from itertools import groupby
from os import PathLike
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from bidaf_plugin.analysis.formats import FORMULA, align_columns, render, write_csv
from bidaf_plugin.analysis.scores import QuestionScore, score_questions
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import write_atomically
from bidaf_plugin.data.dataset_readers.squad_json import Paragraph, Question, read_bytes

Span = Tuple[int, int]

# By whether a stretch of a passage is in a gold answer, and whether it is in the prediction.
_KINDS = {(False, False): "", (True, False): "right", (False, True): "wrong", (True, True): "both"}

# Of the sheet.
COLUMNS = (
    "id",
    "class",
    "note",
    "judge",
    "question",
    "prediction",
    "answers",
    "overlap",
    "passage",
)
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


class MarkedText(NamedTuple):
    """A stretch of a passage: in a gold answer ("right"), the prediction ("wrong"), "both", or ""."""

    text: str
    kind: str


@dataclass(frozen=True)
class AnsweredQuestion(QuestionScore):
    """A question that has a prediction, with its passage."""

    # Its stretches, in order.
    passage: List[MarkedText]
    # Whether the prediction overlaps with a gold answer in the passage. A prediction file does not say where an
    # answer was found, so any place in the passage where it stands will do; if there is none, words in common
    # will.
    has_overlap: bool

    @property
    def passage_text(self) -> str:
        return "".join(text for text, _ in self.passage)


def answered_questions(
    paragraphs: Sequence[Paragraph], predictions: Mapping[str, str]
) -> List[AnsweredQuestion]:
    """All questions that have a prediction, in the order of the data."""
    pairs = [(paragraph, question) for paragraph in paragraphs for question in paragraph.questions]
    scores = score_questions([question for _, question in pairs], predictions)
    return [
        _mark(paragraph.passage, question, score)
        for (paragraph, question), score in zip(pairs, scores, strict=True)
        if score.prediction is not None
    ]


def draw_sample(
    questions: Sequence[AnsweredQuestion], size: int, seed: int
) -> List[AnsweredQuestion]:
    """So many questions drawn at random, or all if there are not as many; in the order of the data."""
    indices = random.Random(seed).sample(range(len(questions)), min(size, len(questions)))
    return [questions[index] for index in sorted(indices)]


def _mark(passage: str, question: Question, score: QuestionScore) -> AnsweredQuestion:
    gold = [(answer.start, answer.end) for answer in question.answers]
    predicted = find_text(score.prediction or "", passage)
    overlapping = [span for span in predicted if any(_overlap(span, other) for other in gold)]
    return AnsweredQuestion(
        **vars(score),
        # Of several places where it stands, those at a gold answer are the likely ones.
        passage=mark_passage(passage, gold, overlapping or predicted),
        has_overlap=bool(overlapping) or (not predicted and score.f1 > 0),
    )


def find_text(text: str, passage: str) -> List[Span]:
    """Where a text stands in a passage; systems that join tokens differ from it in blanks."""
    words = text.split()
    # Not within a number or a word: "7" is not in "1871".
    pattern = r"(?<!\w)" if words and words[0][0].isalnum() else ""
    pattern += r"\s*".join(map(re.escape, words))
    pattern += r"(?!\w)" if words and words[-1][-1].isalnum() else ""
    return [match.span() for match in re.finditer(pattern, passage)] if words else []


def mark_passage(passage: str, gold: Sequence[Span], predicted: Sequence[Span]) -> List[MarkedText]:
    """The passage in as few stretches as can be, none of which is partly in an answer."""
    cuts = sorted({0, len(passage), *(cut for span in [*gold, *predicted] for cut in span)})
    kinds = [
        _KINDS[
            any(_overlap(stretch, span) for span in gold),
            any(_overlap(stretch, span) for span in predicted),
        ]
        for stretch in zip(cuts, cuts[1:], strict=False)
    ]
    stretches = []
    for kind, group in groupby(range(len(kinds)), key=lambda index: kinds[index]):
        indices = list(group)
        stretches.append(MarkedText(passage[cuts[indices[0]] : cuts[indices[-1] + 1]], kind))
    return stretches


def _overlap(first: Span, second: Span) -> bool:
    return first[0] < second[1] and second[0] < first[1]


def find_error_class(text: str) -> Optional[str]:
    """The class that somebody means: by its name, the beginning of it, or its number, 1 to 6."""
    text = text.strip().lower()
    found = [
        name
        for number, name in enumerate(ERROR_CLASSES, start=1)
        if text and (name.lower().startswith(text) or text == str(number))
    ]
    return found[0] if len(found) == 1 else None


def sheet_rows(sample: Sequence[AnsweredQuestion]) -> List[Dict[str, str]]:
    """The rows of the sheet; where the answer overlaps with a gold answer the class is filled in."""
    return [
        {
            "id": item.id,
            "class": IMPRECISE_BOUNDARIES if item.has_overlap else "",
            "note": "",
            "judge": "",
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


class FilledSheet(NamedTuple):
    """How many answers are in each class, by its name, and in none yet, by ""; and who says so."""

    counts: Dict[str, int]
    judges: List[str]


def read_sheet(path: Union[str, PathLike]) -> FilledSheet:
    """
    A `DataError` names the line if a class is none of the six. Spreadsheet programs write the sheet with commas,
    semicolons or tabs.
    """
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text; save the sheet as CSV in UTF-8") from error
    header = text.partition("\n")[0]
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=header.count))
    if "class" not in (reader.fieldnames or ()):
        raise DataError(f"{path}: expected a CSV file with a column 'class', found {header!r:.80}")
    counts = dict.fromkeys([*ERROR_CLASSES, ""], 0)
    judges: Dict[str, None] = {}
    try:
        for row in reader:
            value = (row["class"] or "").strip()
            error_class = find_error_class(value) if value else ""
            if error_class is None:
                raise DataError(
                    f"{path}, line {reader.line_num}: the class {value!r:.60} is not one of: "
                    f"{', '.join(ERROR_CLASSES)} (or 1 to 6)"
                )
            counts[error_class] += 1
            judges[(row.get("judge") or "").strip()] = None
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: not CSV ({error})") from error
    return FilledSheet(counts, [judge for judge in judges if judge])


def error_table(sheet: FilledSheet) -> str:
    """The paper's table with the counts beside it."""
    counts = sheet.counts
    total = sum(counts[name] for name in ERROR_CLASSES)
    rows = [["error type", "answers", "percent", "paper's percent"]]
    for name, paper_percent in ERROR_CLASSES.items():
        percent = f"{100 * counts[name] / total:.0f}" if total else "-"
        rows.append([name, str(counts[name]), percent, str(paper_percent)])
    rows.append(["in all", str(total), "100" if total else "-", "100"])
    table = align_columns(rows)
    if sheet.judges:
        table += f"\n\nJudged by {', '.join(sheet.judges)}."
    if counts[""]:
        table += f"\n\n{counts['']:,} answers without a class are not counted."
    return table

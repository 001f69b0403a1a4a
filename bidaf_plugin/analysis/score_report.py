"""
What `allennlp bidaf score` says: the scores of one or two prediction files, and whether they differ, as text
and as JSON.
"""

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

import numpy
from numpy.typing import ArrayLike

from bidaf_plugin.analysis.files import questions_of, read_answers, read_probabilities
from bidaf_plugin.analysis.formats import align_columns
from bidaf_plugin.analysis.scores import (
    Group,
    QuestionScore,
    apply_threshold,
    break_down,
    find_best_thresholds,
    score_questions,
    summarize,
)
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.squad_json import Paragraph

# Resamples of the bootstrap at once, which bounds the memory.
_RESAMPLES_AT_ONCE = 1_000


class FileScores(NamedTuple):
    """What there is to say of a prediction file."""

    file: str
    # One for each question of the data.
    questions: List[QuestionScore]
    # The official scores.
    summary: Dict[str, float]
    breakdown: Dict[str, List[Group]]
    # Questions of the data that the file does not answer; they count as wrong.
    missing: List[str]
    # Ids of the file that are not in the data; they do not count.
    extra: List[str]


def score_file(
    paragraphs: Sequence[Paragraph],
    file: str,
    probabilities_file: Optional[str] = None,
    threshold: float = 1.0,
) -> FileScores:
    """
    Scores a file of predictions or of n-best answers to questions whose gold answers are known. On data of
    version 2.0 there may be no-answer probabilities: questions with one above the threshold count as answered
    with the empty string.
    """
    predictions = read_answers(file, paragraphs)
    questions = questions_of(paragraphs)
    scores = score_questions(questions, predictions)
    best_thresholds: Dict[str, float] = {}
    if probabilities_file is not None:
        if all(score.has_answer for score in scores):
            raise DataError(
                f"{probabilities_file}: every question of the data has an answer, so no-answer "
                "probabilities have no meaning"
            )
        probabilities = read_probabilities(probabilities_file)
        # The best thresholds are those of the answers as they are in the file.
        best_thresholds = find_best_thresholds(scores, probabilities)
        scores = apply_threshold(scores, probabilities, threshold)
    ids = {question.id for question in questions}
    return FileScores(
        file,
        scores,
        {**summarize(scores), **best_thresholds},
        break_down(scores),
        missing=[score.id for score in scores if score.prediction is None],
        extra=[id for id in predictions if id not in ids],
    )


class Difference(NamedTuple):
    """How much better the second of two systems is."""

    # The mean of second - first over the questions.
    difference: float
    # The confidence interval.
    low: float
    high: float
    # Of both sides: how likely a difference of this size is if there is none.
    p_value: float


def paired_bootstrap(
    first: ArrayLike,
    second: ArrayLike,
    num_resamples: int = 10_000,
    confidence_level: float = 0.95,
    seed: int = 0,
) -> Difference:
    """
    The paired bootstrap of the difference between the scores of two systems on the same questions
    ([Efron and Tibshirani, 1993](https://doi.org/10.1201/9780429246593)): the questions are drawn anew,
    with replacement, `num_resamples` times. The interval is that of the percentiles; the p-value is twice
    the share of resamples in which the difference is gone or has changed its sign.

    A resample is drawn as the number of times that each distinct difference occurs in it, which is the
    same as drawing question by question, and much faster: there are few distinct differences.
    """
    differences = numpy.asarray(second, dtype=float) - numpy.asarray(first, dtype=float)
    num_questions = len(differences)
    # Differences of F1 that are equal but for rounding errors are one.
    values, counts = numpy.unique(differences.round(12), return_counts=True)
    generator = numpy.random.default_rng(seed)
    means = numpy.empty(num_resamples)
    for start in range(0, num_resamples, _RESAMPLES_AT_ONCE):
        chunk = means[start : start + _RESAMPLES_AT_ONCE]
        drawn = generator.multinomial(num_questions, counts / num_questions, len(chunk))
        chunk[:] = drawn @ values / num_questions
    tail = 50.0 * (1 - confidence_level)
    low, high = numpy.percentile(means, [tail, 100 - tail])
    num_against = min((means <= 0).sum(), (means >= 0).sum())
    # The data itself counts as one more resample: no finite number of them shows that p is 0.
    p_value = min(1.0, 2 * (num_against + 1) / (num_resamples + 1))
    return Difference(float(differences.mean()), float(low), float(high), float(p_value))


def compare_files(first: FileScores, second: FileScores) -> Dict[str, Difference]:
    """The paired bootstrap of `em` and `f1`, second - first, in percent."""
    return {
        name: paired_bootstrap(
            [100 * getattr(score, name) for score in first.questions],
            [100 * getattr(score, name) for score in second.questions],
        )
        for name in ("em", "f1")
    }


def report_as_json(
    data: str, files: Sequence[FileScores], differences: Mapping[str, Difference]
) -> Dict[str, Any]:
    """Everything, with all digits."""
    described = [
        {
            "file": item.file,
            "scores": item.summary,
            "missing": item.missing,
            "extra": item.extra,
            "breakdown": {
                aspect: [group._asdict() for group in groups]
                for aspect, groups in item.breakdown.items()
            },
        }
        for item in files
    ]
    report: Dict[str, Any] = {"data": data, "files": described}
    if differences:
        report["difference"] = {name: value._asdict() for name, value in differences.items()}
    return report


def breakdown_rows(aspect: str, files: Mapping[str, FileScores]) -> List[List[Any]]:
    """A row for each group of questions, after the names of the columns, with the scores of all files."""
    scores = [f"{name} {score}".strip() for name in files for score in ("EM", "F1")]
    rows: List[List[Any]] = [[aspect, "questions", *scores]]
    # The groups depend on the questions alone, so all files have the same.
    for groups in zip(*(item.breakdown[aspect] for item in files.values()), strict=True):
        numbers = [number for group in groups for number in (group.em, group.f1)]
        rows.append([groups[0].label, groups[0].num_questions, *numbers])
    return rows


def report_as_text(files: Sequence[FileScores], differences: Mapping[str, Difference]) -> str:
    """The same for people."""
    columns = [""] if len(files) == 1 else ["first", "second"]
    rows = [["", *columns]]
    for name in files[0].summary:
        values = [item.summary[name] for item in files]
        rows.append([name, *(f"{v:,}" if isinstance(v, int) else f"{v:.3f}" for v in values)])
    paragraphs = [*map(_describe_ids, files), align_columns(rows)]
    for aspect in files[0].breakdown:
        by_column = dict(zip(columns, files, strict=True))
        paragraphs.append(align_columns(breakdown_rows(aspect, by_column)))
    if differences:
        lines = [f"{files[1].file} minus {files[0].file}, paired bootstrap:"]
        for name, result in differences.items():
            lines.append(
                f"  {name.upper()} {result.difference:+.3f}, 95 % interval "
                f"{result.low:+.3f} to {result.high:+.3f}, p = {result.p_value:.4f}"
            )
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs)


def _describe_ids(item: FileScores) -> str:
    num_questions = len(item.questions)
    num_answered = num_questions - len(item.missing)
    lines = [f"{item.file}: {num_answered:,} of {num_questions:,} questions answered"]
    if item.missing:
        lines.append(
            f"  {len(item.missing):,} missing, which count as wrong; the first is {item.missing[0]!r}"
        )
    if item.extra:
        lines.append(
            f"  {len(item.extra):,} extra ids, which are not in the data and do not count; "
            f"the first is {item.extra[0]!r}"
        )
    return "\n".join(lines)

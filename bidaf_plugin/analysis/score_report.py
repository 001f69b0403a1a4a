"""
What `allennlp bidaf score` says: the scores of one or two prediction files, as text and as JSON.
"""

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from bidaf_plugin.analysis.bootstrap import Difference, paired_bootstrap
from bidaf_plugin.analysis.breakdown import Group, break_down
from bidaf_plugin.analysis.nbest_files import answers_of, is_nbest_file, read_nbest
from bidaf_plugin.analysis.no_answer import apply_threshold, find_best_thresholds
from bidaf_plugin.analysis.prediction_files import read_predictions, read_probabilities
from bidaf_plugin.analysis.scores import QuestionScore, score_questions, summarize
from bidaf_plugin.analysis.tables import align_columns
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.squad_json import Question


class FileScores(NamedTuple):
    """
    What there is to say of a prediction file.

    # Parameters

    file : `str`
    questions : `List[QuestionScore]`
        One for each question of the data.
    summary : `Dict[str, float]`
        The official scores.
    breakdown : `Dict[str, List[Group]]`
    missing : `List[str]`
        Questions of the data that the file does not answer; they count as wrong.
    extra : `List[str]`
        Ids of the file that are not in the data; they do not count.
    """

    file: str
    questions: List[QuestionScore]
    summary: Dict[str, float]
    breakdown: Dict[str, List[Group]]
    missing: List[str]
    extra: List[str]


def score_file(
    questions: Sequence[Question],
    file: str,
    probabilities_file: Optional[str] = None,
    threshold: float = 1.0,
    passages: Optional[Mapping[str, str]] = None,
) -> FileScores:
    """
    Scores a prediction file.

    # Parameters

    questions : `Sequence[Question]`
        From `read_gold_questions`.
    file : `str`
    probabilities_file : `str`, optional (default = `None`)
        No-answer probabilities, for data of version 2.0.
    threshold : `float`, optional (default = `1.0`)
        Questions with a larger no-answer probability count as answered with the empty string.
    passages : `Mapping[str, str]`, optional (default = `None`)
        By question id: with them `file` may be one of n-best answers, too.
    """
    if passages is not None and is_nbest_file(file):
        predictions = answers_of(file, read_nbest(file), passages)
    else:
        predictions = read_predictions(file)
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
    report: Dict[str, Any] = {"data": data, "files": []}
    for item in files:
        breakdown = {
            aspect: [group._asdict() for group in groups]
            for aspect, groups in item.breakdown.items()
        }
        report["files"].append(
            {
                "file": item.file,
                "scores": item.summary,
                "missing": item.missing,
                "extra": item.extra,
                "breakdown": breakdown,
            }
        )
    if differences:
        report["difference"] = {name: value._asdict() for name, value in differences.items()}
    return report


def report_as_text(files: Sequence[FileScores], differences: Mapping[str, Difference]) -> str:
    parts = [_describe_ids(item) for item in files]
    rows = [["", *(_column_names(files))]]
    rows += [[name, *(_show(item.summary[name]) for item in files)] for name in files[0].summary]
    parts.append(align_columns(rows))
    parts += [_breakdown_table(aspect, files) for aspect in files[0].breakdown]
    if differences:
        parts.append(_describe_differences(files[0].file, files[1].file, differences))
    return "\n\n".join(parts)


def _column_names(files: Sequence[FileScores]) -> List[str]:
    return [""] if len(files) == 1 else ["first", "second"]


def _show(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


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


def _breakdown_table(aspect: str, files: Sequence[FileScores]) -> str:
    scores = [f"{name} {score}".strip() for name in _column_names(files) for score in ("EM", "F1")]
    rows = [[aspect, "questions", *scores]]
    # The groups depend on the questions alone, so both files have the same.
    for groups in zip(*(item.breakdown[aspect] for item in files), strict=True):
        numbers = [f"{score:.2f}" for group in groups for score in (group.em, group.f1)]
        rows.append([groups[0].label, f"{groups[0].num_questions:,}", *numbers])
    return align_columns(rows)


def _describe_differences(first: str, second: str, differences: Mapping[str, Difference]) -> str:
    lines = [f"{second} minus {first}, paired bootstrap:"]
    for name, result in differences.items():
        lines.append(
            f"  {name.upper()} {result.difference:+.3f}, 95 % interval "
            f"{result.low:+.3f} to {result.high:+.3f}, p = {result.p_value:.4f}"
        )
    return "\n".join(lines)

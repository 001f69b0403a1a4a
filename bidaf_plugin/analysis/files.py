"""
The files that scores come from, plain or gzipped: SQuAD files in which every question can be told by its id, and
files with something for each id in one JSON object, as the official SQuAD scripts read them: answers and no-answer
probabilities; and n-best lists.

An n-best list has the most probable spans for a question, `{question id: [{"characters": [first, one past the
last], "probability": p}, ...]}`, the answer of the model first, "characters" null for no answer. Together with
the data they are enough to score a model and to let several answer together, without the models. What
`allennlp bidaf answer --n-best` writes is read as well.
"""

import gzip
import json
import os
from collections import Counter
from contextlib import contextmanager
from os import PathLike
from typing import IO, Any, Dict, Iterable, Iterator, List, Mapping, Sequence, Set, Tuple, Union

from allennlp.common.util import JsonDict

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import open_atomically
from bidaf_plugin.data.dataset_readers.squad_json import (
    Paragraph,
    Question,
    load_json,
    read_bytes,
    read_squad_json,
)
from bidaf_plugin.modules.ensemble_rules import Candidate

Path = Union[str, PathLike]

# What there may be beside a prediction file, by its key in the record of an answer.
KINDS_BESIDE = {"n_best": "nbest", "no_answer_probability": "na_prob"}


def read_paragraphs(path: Path) -> List[Paragraph]:
    """All paragraphs of a SQuAD file, with a `DataError` if two questions have the same id."""
    paragraphs = list(read_squad_json(path))
    ids: Set[str] = set()
    for paragraph in paragraphs:
        for question in paragraph.questions:
            if question.id in ids:
                raise DataError(
                    f"{paragraph.place}: the question id {question.id!r} is there twice; in a "
                    "prediction file an id stands for one question"
                )
            ids.add(question.id)
    return paragraphs


def read_gold_paragraphs(path: Path) -> List[Paragraph]:
    """Likewise, with a `DataError` if the right answer to a question is not known."""
    paragraphs = read_paragraphs(path)
    for paragraph in paragraphs:
        for question in paragraph.questions:
            # The score without such questions would not be comparable with any other.
            if not _has_gold_answer(question):
                raise DataError(
                    f"{paragraph.place}, question {question.id!r}: there is neither a gold answer to "
                    "score against nor 'is_impossible': true"
                )
    return paragraphs


def has_gold_answers(paragraphs: Sequence[Paragraph]) -> bool:
    """Whether the right answer to every question is known, so that there can be a score."""
    return all(map(_has_gold_answer, questions_of(paragraphs)))


def _has_gold_answer(question: Question) -> bool:
    return bool(question.answers or question.is_impossible)


def questions_of(paragraphs: Iterable[Paragraph]) -> List[Question]:
    return [question for paragraph in paragraphs for question in paragraph.questions]


def passages_of(paragraphs: Iterable[Paragraph]) -> Dict[str, str]:
    """The passage of each question, by its id."""
    return {q.id: paragraph.passage for paragraph in paragraphs for q in paragraph.questions}


def records_of(paragraphs: Iterable[Paragraph]) -> List[JsonDict]:
    """The questions as `SpanPredictor` takes them."""
    return [
        {"id": question.id, "question": question.text, "passage": paragraph.passage}
        for paragraph in paragraphs
        for question in paragraph.questions
    ]


def read_predictions(path: Path) -> Dict[str, str]:
    """
    The answers by question id, in the order of the file, with a `DataError` if it is anything but an object
    of strings, or has an id twice.
    """
    predictions = _read_object(path, "{question id: answer}")
    for id, answer in predictions.items():
        if not isinstance(answer, str):
            raise DataError(f"{path}: the answer to {id!r} must be a string, found {answer!r:.60}")
    return predictions


def read_answers(path: Path, paragraphs: Sequence[Paragraph]) -> Dict[str, str]:
    """Likewise, or the first answers of a file of n-best lists."""
    if is_nbest_file(path):
        return first_answers(path, read_nbest(path), passages_of(paragraphs))
    return read_predictions(path)


def read_probabilities(path: Path) -> Dict[str, float]:
    """The no-answer probabilities by question id, in the order of the file."""
    probabilities = _read_object(path, "{question id: probability}")
    for id, probability in probabilities.items():
        if not _is_number(probability) or not 0 <= probability <= 1:
            raise DataError(
                f"{path}: the no-answer probability of {id!r} must be a number from 0 to 1, "
                f"found {probability!r:.60}"
            )
    return probabilities


def read_nbest(path: Path) -> Dict[str, List[Candidate]]:
    """The n-best lists by question id, with a `DataError` that names the file and the question."""
    form = "{question id: [{'characters': [first, one past the last], 'probability': p}, ...]}"
    spans: Dict[str, List[Candidate]] = {}
    for id, items in _read_object(path, form).items():
        if not isinstance(items, list) or not items:
            raise DataError(f"{path}, {id!r}: there must be a list of answers, found {items!r:.60}")
        spans[id] = [_read_candidate(item, f"{path}, {id!r}") for item in items]
    return spans


def _read_candidate(item: Any, where: str) -> Candidate:
    item = item if isinstance(item, dict) else {}
    span, probability = item.get("characters", ()), item.get("probability")
    # What is rounded, or the sum of many, may be a little more than 1.
    if not _is_number(probability) or not 0 <= probability <= 1.001:
        raise DataError(f"{where}: 'probability' must be a number from 0 to 1")
    if span is None:
        return Candidate(None, probability)
    is_span = isinstance(span, list) and len(span) == 2 and all(type(end) is int for end in span)
    if not is_span or not 0 <= span[0] < span[1]:
        raise DataError(f"{where}: 'characters' must be two rising numbers, or null")
    return Candidate((span[0], span[1]), probability)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_nbest_file(path: Path) -> bool:
    """By its name: predictions.nbest.json, plain or gzipped."""
    return str(path).removesuffix(".gz").endswith(".nbest.json")


def first_answers(
    path: Path, spans: Mapping[str, Sequence[Candidate]], passages: Mapping[str, str]
) -> Dict[str, str]:
    """The texts of the first answers of an n-best file, to those questions that are in the data."""
    answers = {}
    for id, candidates in spans.items():
        if id not in passages:
            continue
        span = candidates[0].span
        if span is not None and span[1] > len(passages[id]):
            raise DataError(
                f"{path}, {id!r}: the answer ends at character {span[1]} of a passage of "
                f"{len(passages[id])}; is it about other data?"
            )
        answers[id] = candidates[0].text(passages[id])
    return answers


def write_nbest(path: Path, spans: Mapping[str, Sequence[Candidate]]) -> None:
    """Writes a file of n-best lists, which is either whole or not there."""
    write_json(
        path,
        {
            id: [
                # More digits would be most of the file.
                {"characters": span and list(span), "probability": float(f"{probability:.4g}")}
                for span, probability in candidates
            ]
            for id, candidates in spans.items()
        },
    )


def write_answers(path: str, answers: Sequence[JsonDict]) -> List[str]:
    """
    Writes the records of answers as an official prediction file, and beside it what else they have:
    `n_best` lists and no-answer probabilities. The prediction file is written last: if it is there, all
    are. Returns the paths of the files.
    """
    paths = []
    for key, kind in KINDS_BESIDE.items():
        found = {answer["id"]: answer[key] for answer in answers if key in answer}
        if found:
            paths.append(path_beside(path, kind))
            write_json(paths[-1], found)
    write_json(path, {answer["id"]: answer["best_span_str"] for answer in answers})
    return [*paths, path]


def write_json(path: Path, value: Any) -> None:
    """Writes a JSON file, gzipped if its name says so, which is either whole or not there."""
    with _open_json(path) as file:
        file.write(json.dumps(value).encode("utf-8"))


@contextmanager
def _open_json(path: Path) -> Iterator[IO[bytes]]:
    with open_atomically(os.fspath(path), "wb") as file:
        if not str(path).endswith(".gz"):
            yield file
            return
        # Without name and time, the same predictions make the same file.
        with gzip.GzipFile(fileobj=file, filename="", mode="wb", mtime=0) as compressed:
            yield compressed  # type: ignore[misc]


def join_objects(path: Path, parts: Iterable[str]) -> None:
    """
    Writes what `write_json` would write of all objects in the JSON files `parts` together, which have no key in
    common. There is never more than one of them in memory.
    """
    with _open_json(path) as file:
        file.write(b"{")
        separator = b""
        for part in parts:
            with open(part, "rb") as part_file:
                items = part_file.read()[1:-1]
            if items:
                file.write(separator + items)
                separator = b", "
        file.write(b"}")


def path_beside(path: Path, kind: str) -> str:
    """`predictions.json` and "nbest" give `predictions.nbest.json`, likewise with `.json.gz`."""
    folder, name = os.path.split(os.fspath(path))
    stem, dot, extensions = name.partition(".json")
    return os.path.join(folder, f"{stem}.{kind}{dot}{extensions}")


def _read_object(path: Path, form: str) -> Dict[str, Any]:
    """A value for each question id; `form` is what to tell of a file that has none."""

    def check_keys(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
            raise DataError(f"{path}: the key {twice!r} is there twice")
        return values

    value = load_json(read_bytes(path), path, object_pairs_hook=check_keys)
    if not isinstance(value, dict):
        raise DataError(f"{path}: expected one JSON object {form}, found {value!r:.60}")
    return value

"""
The files that the official SQuAD scripts read: one JSON object with a value for each question id,
which is the answer, or the probability that there is none. Names that end in .gz are gzipped.
"""

import gzip
import json
import os
from collections import Counter
from os import PathLike
from typing import Any, Dict, List, Mapping, Tuple, Union

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import open_atomically
from bidaf_plugin.data.dataset_readers.squad_json import load_json, read_bytes

Path = Union[str, PathLike]


def read_predictions(path: Path) -> Dict[str, str]:
    """
    The answers by question id, in the order of the file.

    # Raises

    `DataError`, if the file is anything but an object of strings, or has an id twice.
    """
    predictions = read_object(path, "{question id: answer}")
    for id, answer in predictions.items():
        if not isinstance(answer, str):
            raise DataError(f"{path}: the answer to {id!r} must be a string, found {answer!r:.60}")
    return predictions


def read_probabilities(path: Path) -> Dict[str, float]:
    """The no-answer probabilities by question id, in the order of the file."""
    probabilities = read_object(path, "{question id: probability}")
    for id, probability in probabilities.items():
        is_number = isinstance(probability, (int, float)) and not isinstance(probability, bool)
        if not is_number or not 0 <= probability <= 1:
            raise DataError(
                f"{path}: the no-answer probability of {id!r} must be a number from 0 to 1, "
                f"found {probability!r:.60}"
            )
    return probabilities


def write_predictions(path: Path, predictions: Mapping[str, str]) -> None:
    """Writes an official prediction file, which is either whole or not there."""
    write_json(path, predictions)


def write_json(path: Path, value: Any) -> None:
    """Writes a JSON file, gzipped if its name says so, which is either whole or not there."""
    content = json.dumps(value).encode("utf-8")
    if str(path).endswith(".gz"):
        # Without the time, the same predictions make the same file.
        content = gzip.compress(content, mtime=0)
    with open_atomically(os.fspath(path), "wb") as file:
        file.write(content)


def path_beside(path: Path, kind: str) -> str:
    """`predictions.json` and "nbest" give `predictions.nbest.json`, likewise with `.json.gz`."""
    folder, name = os.path.split(os.fspath(path))
    stem, dot, extensions = name.partition(".json")
    return os.path.join(folder, f"{stem}.{kind}{dot}{extensions}")


def read_object(path: Path, form: str) -> Dict[str, Any]:
    """A value for each question id; `form` is what to tell of a file that has none."""
    value = load_json(read_bytes(path), path, object_pairs_hook=lambda pairs: _unique(pairs, path))
    if not isinstance(value, dict):
        raise DataError(f"{path}: expected one JSON object {form}, found {value!r:.60}")
    return value


def _unique(pairs: List[Tuple[str, Any]], path: Path) -> Dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise DataError(f"{path}: the key {twice!r} is there twice")
    return values

"""
The questions of files of any size, SQuAD JSON or JSON lines, plain or gzipped: no file is read whole, and what
cannot be used is named and does not stop the others.
"""

import gzip
import io
import os
import sqlite3
from contextlib import closing, contextmanager
from typing import IO, Any, Callable, Iterator, List, Sequence

from allennlp.common.file_utils import cached_path
from allennlp.common.util import JsonDict

from bidaf_plugin.analysis.files import records_of
from bidaf_plugin.common.errors import DAMAGES, DataError, check_is_text
from bidaf_plugin.common.files import read_json
from bidaf_plugin.common.json_stream import JsonStream
from bidaf_plugin.data.dataset_readers.squad_json import read_paragraph
from bidaf_plugin.predictors.records import check_record

# Other files in a folder are passed over.
_JSON_LINES = (".jsonl", ".jsonl.gz")
_EXTENSIONS = (".json", ".json.gz", *_JSON_LINES)

OnBad = Callable[[str], object]


def find_files(path: str) -> List[str]:
    """The files that are meant: `path`, or those in this folder by their names."""
    if not os.path.isdir(path):
        try:
            cached_path(path)
        except FileNotFoundError as error:
            raise DataError(f"{path}: there is no such file or folder") from error
        return [path]
    files = [
        os.path.join(path, name) for name in sorted(os.listdir(path)) if name.endswith(_EXTENSIONS)
    ]
    if not files:
        raise DataError(f"{path}: there are no files in it that end in {', '.join(_EXTENSIONS)}")
    return files


def questions_of_files(paths: Sequence[str], on_bad: OnBad) -> Iterator[JsonDict]:
    """
    The questions as `SpanPredictor` takes them, each id once.

    # Parameters

    paths : `Sequence[str]`
        Those that end in `.jsonl` or `.jsonl.gz` have a question in each line, as for `allennlp predict`, and
        others are SQuAD files.
    on_bad : `Callable[[str], object]`
        Is told in a sentence what has been left out: a paragraph or a line that is not as it should be, a
        question with an id that was there before, or what follows after a place where a file is damaged.
    """
    with _KnownIds() as known:
        for path in paths:
            read = _read_lines if path.endswith(_JSON_LINES) else _read_squad
            try:
                with _open(path) as file:
                    for place, record in read(file, path, on_bad):
                        if known.add(record["id"]):
                            yield record
                        else:
                            on_bad(f"{place}: the question id {record['id']!r} is there twice")
            except DAMAGES as error:
                on_bad(f"{path}: the gzip file is truncated or damaged ({error})")
            except OSError as error:
                on_bad(f"{path}: {error.strerror or error}")
            except (ValueError, RecursionError) as error:
                on_bad(f"{path}: not JSON from somewhere on ({error})")


class _KnownIds:
    """The ids so far, on disk: those of a hundred million questions are too many for the memory."""

    def __enter__(self) -> "_KnownIds":
        # SQLite removes a database without a name.
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("CREATE TABLE ids (id TEXT PRIMARY KEY) WITHOUT ROWID")
        self._database.execute("BEGIN")
        return self

    def __exit__(self, *error: Any) -> None:
        self._database.close()

    def add(self, id: str) -> bool:
        """Whether it is new."""
        try:
            return self._database.execute("INSERT OR IGNORE INTO ids VALUES (?)", [id]).rowcount > 0
        except sqlite3.OperationalError as error:
            raise DataError(f"the ids of the questions cannot be kept on disk: {error}") from error


@contextmanager
def _open(path: str) -> Iterator[IO[bytes]]:
    with open(cached_path(path), "rb") as file:
        is_gzipped = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if not is_gzipped:
            yield file
            return
        with gzip.open(file) as content:
            yield content  # type: ignore[misc]


def _read_lines(file: IO[bytes], path: str, on_bad: OnBad) -> Iterator[Any]:
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            record = read_json(line.decode("utf-8"))
            id = check_record(record).id
            if not isinstance(id, str):
                raise DataError(f"the answer needs an 'id' that is a string, found {id!r:.60}")
            check_is_text(id, "'id'")
        except DataError as error:
            on_bad(f"{place}: {error}")
        except (ValueError, RecursionError) as error:
            on_bad(f"{place}: not JSON ({error})")
        else:
            yield place, {**record, "id": id}


def _read_squad(file: IO[bytes], path: str, on_bad: OnBad) -> Iterator[Any]:
    with closing(io.TextIOWrapper(file, "utf-8")) as text:
        for place, paragraph in _paragraphs(JsonStream(text), path, on_bad):
            try:
                read = read_paragraph(paragraph, place)
            except DataError as error:
                on_bad(str(error))
            else:
                yield from ((place, record) for record in records_of([read]))


def _paragraphs(stream: JsonStream, path: str, on_bad: OnBad) -> Iterator[Any]:
    has_data = False
    for key in stream.object_keys():
        if key != "data":
            stream.value()
            continue
        has_data = True
        for article in stream.array_items():
            place = f"{path}, article {article}"
            if stream.peek() != "{":
                on_bad(f"{place}: expected a JSON object, found {stream.value()!r:.60}")
                continue
            has_paragraphs = False
            for key in stream.object_keys():
                if key == "paragraphs" and stream.peek() == "[":
                    has_paragraphs = True
                    for index in stream.array_items():
                        yield f"{place}, paragraph {index}", stream.value()
                    continue
                value = stream.value()
                if key == "title" and isinstance(value, str):
                    place += f" ({value!r})"
            if not has_paragraphs:
                on_bad(f"{place}: there is no list 'paragraphs'")
    if not has_data:
        on_bad(f"{path}: the key 'data' is missing")
    if stream.peek():
        raise ValueError(f"something stands behind the end: {stream.peek()!r}")

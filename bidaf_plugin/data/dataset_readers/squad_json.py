"""
The SQuAD JSON format, read and checked: what is wrong is reported with its place in the file.
"""

import gzip
import json
from os import PathLike
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

from allennlp.common.file_utils import cached_path

from bidaf_plugin.common.errors import DAMAGES, DataError, check_is_text


class GoldAnswer(NamedTuple):
    """One gold answer: its text and the character of the passage at which it starts."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """One past the last character."""
        return self.start + len(self.text)

    @property
    def characters(self) -> Tuple[int, int]:
        """The first character, and one past the last that is no blank."""
        return self.start, self.start + len(self.text.rstrip())


class Question(NamedTuple):
    """
    A question and its gold answers. It has none if they are not known, or if the passage does not
    answer it: then it `is_impossible`, as SQuAD 2.0 calls it.
    """

    id: str
    text: str
    answers: List[GoldAnswer]
    is_impossible: bool = False


class Paragraph(NamedTuple):
    """A passage with all of its questions. `place` names it in messages, `article` is the number of its article."""

    place: str
    passage: str
    questions: List[Question]
    article: int = 0


def read_squad_json(file_path: Union[str, PathLike]) -> Iterator[Paragraph]:
    """
    The paragraphs of a SQuAD file, version 1.1 or 2.0: JSON, plain or gzipped, a path or a URL.
    Questions need no answers. Text is stripped at neither end, so that offsets stay those of the file.
    (What SQuAD 2.0 has under "plausible_answers" are no answers.)

    # Raises

    `DataError`, which names the file and the article, paragraph or question id.
    """
    articles = _get(load_json(read_bytes(file_path), file_path), "data", list, str(file_path))
    num_questions = 0
    for article_index in range(len(articles)):
        # Articles are let go as they are read, which leaves their memory to what is made of them.
        article, articles[article_index] = articles[article_index], None
        place = f"{file_path}, article {article_index}"
        if isinstance(article, dict) and isinstance(article.get("title"), str):
            place += f" ({article['title']!r})"
        for paragraph_index, paragraph in enumerate(_get(article, "paragraphs", list, place)):
            read = read_paragraph(paragraph, f"{place}, paragraph {paragraph_index}")
            num_questions += len(read.questions)
            yield read._replace(article=article_index)
    if num_questions == 0:
        raise DataError(f"{file_path}: there are no questions")


def as_squad_json(paragraphs: Iterable[Paragraph]) -> Dict[str, Any]:
    """What a SQuAD file of version 1.1 has, or of 2.0 if some questions have no answer."""
    articles: Dict[int, List[Dict[str, Any]]] = {}
    is_version_2 = False
    for paragraph in paragraphs:
        questions = []
        for question in paragraph.questions:
            is_version_2 |= question.is_impossible
            answers = [
                {"text": answer.text, "answer_start": answer.start} for answer in question.answers
            ]
            record = {"id": question.id, "question": question.text, "answers": answers}
            questions.append({**record, "is_impossible": question.is_impossible})
        written = {"context": paragraph.passage, "qas": questions}
        articles.setdefault(paragraph.article, []).append(written)
    if not is_version_2:
        for question_record in (
            item for group in articles.values() for written in group for item in written["qas"]
        ):
            del question_record["is_impossible"]
    return {
        "version": "v2.0" if is_version_2 else "1.1",
        "data": [
            {"title": f"Article {number}", "paragraphs": group}
            for number, group in articles.items()
        ],
    }


def read_bytes(file_path: Union[str, PathLike]) -> bytes:
    try:
        with open(cached_path(file_path), "rb") as file:
            return file.read()
    except FileNotFoundError as error:
        raise DataError(f"{file_path}: there is no such file") from error


def load_json(
    content: bytes,
    file_path: Union[str, PathLike],
    object_pairs_hook: Optional[Callable[[List[Tuple[str, Any]]], Any]] = None,
) -> Any:
    """What a JSON file, plain or gzipped, holds. For the hook see `json.loads`."""
    try:
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        return json.loads(content.decode("utf-8"), object_pairs_hook=object_pairs_hook)
    except DAMAGES as error:
        raise DataError(f"{file_path}: the gzip file is truncated or damaged ({error})") from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"{file_path}: not UTF-8 text (byte {error.start}: {error.reason})"
        ) from error
    except (ValueError, RecursionError) as error:
        # JSON to others, perhaps: Python takes no numbers of thousands of digits.
        raise DataError(f"{file_path}: not JSON ({error})") from error


def read_paragraph(paragraph: Any, place: str) -> Paragraph:
    """One paragraph of a SQuAD file, or a `DataError` that says what is wrong with it."""
    passage = _get(paragraph, "context", str, place)
    if not passage.strip():
        raise DataError(f"{place}: 'context' is empty")
    questions = []
    for index, question in enumerate(_get(paragraph, "qas", list, place)):
        question_id = _get(question, "id", str, f"{place}, question {index}")
        question_place = f"{place}, question {question_id!r}"
        text = _get(question, "question", str, question_place)
        if not text.strip():
            raise DataError(f"{question_place}: 'question' is empty")
        answers = _read_answers(question, passage, question_place)
        is_impossible = _get(question, "is_impossible", bool, question_place, default=False)
        if is_impossible and answers:
            raise DataError(f"{question_place}: 'is_impossible' is true, but there are answers")
        questions.append(Question(question_id, text, answers, is_impossible))
    return Paragraph(place, passage, questions)


def _read_answers(question: Dict[str, Any], passage: str, place: str) -> List[GoldAnswer]:
    answers = []
    for answer in _get(question, "answers", list, place, default=[]):
        text = _get(answer, "text", str, place)
        start = _get(answer, "answer_start", int, place)
        if not text.strip():
            raise DataError(f"{place}: the text of an answer is empty")
        if start < 0 or passage[start : start + len(text)] != text:
            found = passage[max(start, 0) : max(start, 0) + len(text)]
            raise DataError(
                f"{place}: the answer {text!r} is not at 'answer_start' {start} of the context, "
                f"where {found!r} stands"
            )
        answers.append(GoldAnswer(text, start))
    return answers


_TYPE_NAMES = {list: "a list", str: "a string", int: "a whole number", bool: "true or false"}


def _get(record: Any, key: str, kind: type, place: str, default: Optional[Any] = None) -> Any:
    if not isinstance(record, dict):
        raise DataError(
            f"{place}: expected a JSON object with the key {key!r}, found {record!r:.60}"
        )
    value = record.get(key, default)
    if value is None and key not in record:
        raise DataError(f"{place}: the key {key!r} is missing; found {sorted(record)!r:.200}")
    # True and False are ints to Python, but not to the writer of a JSON file.
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise DataError(f"{place}: {key!r} must be {_TYPE_NAMES[kind]}, found {value!r:.60}")
    if isinstance(value, str):
        check_is_text(value, f"{place}, {key!r}")
    return value

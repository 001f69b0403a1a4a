"""
The JSON objects that hold questions, checked, and the answers in those that models give.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union, overload

from bidaf_plugin.common.files import find_half_character
from bidaf_plugin.runtime.errors import QuestionError

JsonDict = Dict[str, Any]


class Record(NamedTuple):
    """
    A question as it was asked, checked by `check_record`.

    question : `str`
    passages : `List[str]`
    id : `Any`
        As it was given, None if it was not.
    is_list : `bool`
        Whether the passages came as a list, so that an answer must say which one it is from.
    n_best : `int`
        How many answers to list, in place of what is asked for all questions.
    """

    question: str
    passages: List[str]
    id: Any = None
    is_list: bool = False
    n_best: Optional[int] = None


def check_record(record: Any) -> Record:
    """
    The question that a JSON object holds, or a `QuestionError` that says what is wrong with it. This is the
    only check: whoever has a `Record` need not look again.
    """
    if not isinstance(record, dict):
        raise QuestionError(
            f"expected a JSON object with 'question' and 'passage', found {record!r:.60}"
        )
    _check_text("question", record.get("question"), record)
    passage, passages = record.get("passage"), record.get("passages")
    if passage is None:
        passage = record.get("context")
    is_list = passages is not None
    if not is_list:
        _check_text("passage", passage, record)
        passages = [passage]
    elif passage is not None:
        raise QuestionError("there are both 'passage' and 'passages'; expected one of them")
    elif not isinstance(passages, list) or not passages:
        raise QuestionError(f"'passages' must be a list of strings, found {passages!r:.60}")
    else:
        for index, item in enumerate(passages):
            _check_text(f"passages[{index}]", item, record)
    n_best = record.get("n_best")
    if n_best is not None and (type(n_best) is not int or n_best < 1):
        raise QuestionError(f"'n_best' must be a whole number, 1 or more, found {n_best!r:.60}")
    return Record(record["question"], passages, id_of(record), is_list, n_best)


def _check_text(name: str, value: Any, record: JsonDict) -> None:
    if value is None and name in record:
        raise QuestionError(f"{name!r} is null; expected a string")
    if value is None:
        raise QuestionError(f"{name!r} is missing; found {sorted(record)!r:.200}")
    check_text(name, value)


def check_text(name: str, value: Any) -> None:
    """Raises a `QuestionError` that calls the text by its name, if it is none or has no words."""
    if not isinstance(value, str):
        raise QuestionError(f"{name!r} must be a string, found {value!r:.60}")
    if not value.strip():
        raise QuestionError(f"{name!r} is empty")
    place = find_half_character(value)
    if place is not None:
        raise QuestionError(f"{name!r}: half a character (a lone surrogate) at {place}")


def to_record(question: str, passage: Union[str, Sequence[str]], id: Any = None) -> JsonDict:
    """The JSON object of a question on a passage, or on a list of them."""
    is_list = isinstance(passage, (list, tuple))
    passages = {"passages": list(passage)} if is_list else {"passage": passage}
    return {"question": question, **passages, "id": id}


def id_of(record: JsonDict) -> Any:
    return record.get("id", record.get("qid"))


@dataclass(frozen=True)
class Answer:
    """
    An answer to a question.

    # Parameters

    text : `str`
        Cut from the passage: `passage[start:end]`.
    probability : `float`
        Of this text, the sum over all spans that read so.
    start : `int`
        The first character of the most probable of these spans.
    end : `int`
        One past its last character.
    first_token : `int`
        The first token of that span; None if the reader of an ensemble made no token there.
    last_token : `int`
        The last token, inclusive; None likewise.
    passage_index : `int`
        Which of the passages it is from, from 0.
    """

    text: str
    probability: float
    start: int
    end: int
    first_token: Optional[int]
    last_token: Optional[int]
    passage_index: int = 0

    def to_json(self) -> JsonDict:
        """An item of `n_best` in the record of a prediction."""
        return {
            "text": self.text,
            "probability": self.probability,
            "characters": [self.start, self.end],
            "tokens": None if self.first_token is None else [self.first_token, self.last_token],
            "passage_index": self.passage_index,
        }

    @staticmethod
    def from_json(item: JsonDict) -> "Answer":
        (start, end), (first_token, last_token) = item["characters"], item["tokens"] or (None, None)
        span = start, end, first_token, last_token, item["passage_index"]
        return Answer(item["text"], item["probability"], *span)


@dataclass(frozen=True)
class Answers(Sequence[Answer]):
    """
    What a model says to a question: a sequence of `Answer`s, the most probable first.

    # Parameters

    n_best : `Tuple[Answer, ...]`
    no_answer_probability : `float`, optional (default = `None`)
        That the passages do not answer the question; None if the model cannot say so.
    is_answered : `bool`, optional (default = `True`)
        False if the model says that they do not.
    id : `Any`, optional (default = `None`)
        As it was given with the question.
    """

    n_best: Tuple[Answer, ...]
    no_answer_probability: Optional[float] = None
    is_answered: bool = True
    id: Any = None

    @property
    def best(self) -> Optional[Answer]:
        """The most probable answer, or None if there is none."""
        return self.n_best[0] if self.is_answered else None

    @staticmethod
    def from_json(record: Dict[str, Any]) -> "Answers":
        """From the record of a prediction that has `n_best`."""
        return Answers(
            tuple(map(Answer.from_json, record["n_best"])),
            record.get("no_answer_probability"),
            record["best_span_characters"] is not None,
            record["id"],
        )

    def __len__(self) -> int:
        return len(self.n_best)

    @overload
    def __getitem__(self, index: int) -> Answer: ...

    @overload
    def __getitem__(self, index: slice) -> Tuple[Answer, ...]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Answer, Tuple[Answer, ...]]:
        return self.n_best[index]

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple, Union, overload


@dataclass(frozen=True)
class Answer:
    """
    An answer to a question.

    # Parameters

    text : `str`
        Cut from the passage: `passage[start:end]`.
    probability : `float`
        Of this text, wherever it stands: the sum over all places.
    start : `int`
        The first character of its most probable place.
    end : `int`
        One past the last character.
    first_token : `int`
        The first token of that place.
    last_token : `int`
        The last token, inclusive.
    passage_index : `int`
        Which of the passages it is from, from 0.
    """

    text: str
    probability: float
    start: int
    end: int
    first_token: int
    last_token: int
    passage_index: int = 0

    def to_json(self) -> Dict[str, Any]:
        """An item of `n_best` in the record of a prediction."""
        return {
            "text": self.text,
            "probability": self.probability,
            "characters": [self.start, self.end],
            "tokens": [self.first_token, self.last_token],
            "passage_index": self.passage_index,
        }

    @staticmethod
    def from_json(item: Dict[str, Any]) -> "Answer":
        return Answer(
            item["text"],
            item["probability"],
            *item["characters"],
            *item["tokens"],
            item["passage_index"],
        )


@dataclass(frozen=True)
class Answers(Sequence):
    """
    What there is to say to a question: a sequence of `Answer`s, the most probable first.

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
            record["best_span"] is not None,
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

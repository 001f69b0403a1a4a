from typing import Any, Dict, Iterator, Mapping, Sequence

from allennlp.common.util import sanitize
from allennlp.data import Token


class QuestionMetadata(Mapping[str, Any]):
    """
    What the model need not see of an instance: a mapping with the names of its parameters as keys. It
    takes a third of the memory of a dictionary, and AllenNLP does not go through it token by token
    when it moves a batch to its device.

    # Parameters

    id : `str`
    question : `str`
    passage : `str`
    question_tokens : `Sequence[Token]`
    passage_tokens : `Sequence[Token]`
    answers : `Sequence[str]`
        The gold texts, in the order of the file.
    """

    __slots__ = ["id", "question", "passage", "question_tokens", "passage_tokens", "answers"]

    def __init__(
        self,
        id: str,
        question: str,
        passage: str,
        question_tokens: Sequence[Token],
        passage_tokens: Sequence[Token],
        answers: Sequence[str],
    ) -> None:
        self.id = id
        self.question = question
        self.passage = passage
        self.question_tokens = question_tokens
        self.passage_tokens = passage_tokens
        self.answers = list(answers)

    def __getitem__(self, key: str) -> Any:
        if key not in QuestionMetadata.__slots__:
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(QuestionMetadata.__slots__)

    def __len__(self) -> int:
        return len(QuestionMetadata.__slots__)

    def changed(self, **values: Any) -> "QuestionMetadata":
        """A copy with other values for some of the keys."""
        return QuestionMetadata(**{**self, **values})

    def to_json(self) -> Dict[str, Any]:
        """For AllenNLP's `sanitize`."""
        return sanitize(dict(self))

    human_readable_repr = to_json

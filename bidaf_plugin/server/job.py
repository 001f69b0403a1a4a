import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Optional

from allennlp.common.util import JsonDict

from bidaf_plugin.server.served_model import ServedModel


@dataclass(eq=False)
class Job:
    """
    A question on its way to a model and back.

    # Parameters

    model : `ServedModel`
    record : `JsonDict`
        The question.
    deadline : `float`
        When nobody waits for the answer any more, by `time.monotonic`.
    wants_attention : `bool`, optional (default = `False`)
        Asked for is not the answer but what the model attends to.

    # Attributes

    answer : `Future`
        What the model says, or an exception.
    """

    model: ServedModel
    record: JsonDict
    deadline: float
    wants_attention: bool = False
    answer: "Future[JsonDict]" = field(default_factory=Future)

    @property
    def num_characters(self) -> int:
        """Of all passages: how much work it is."""
        passage: Optional[str] = self.record.get("passage")
        return sum(map(len, self.record["passages"] if passage is None else [passage]))

    @property
    def is_over(self) -> bool:
        """Whether it has been answered, or nobody waits for it any more."""
        return self.answer.done() or time.monotonic() > self.deadline

    def finish(self, answer: JsonDict) -> None:
        if not self.answer.done():
            self.answer.set_result({"model": self.model.name, **answer})

    def fail(self, error: BaseException) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)

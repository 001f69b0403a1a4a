from threading import Event
from typing import Any, Dict, Iterator, List, Sequence, Tuple

from overrides import overrides

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.server.schemas import ModelDescription
from bidaf_plugin.server.served_model import ServedModel

Record = Dict[str, Any]


class SlowModel(ServedModel):
    """
    Waits until it is let go, and gives the questions back: not "bad", which is refused, and not "broken",
    which nobody expects. A "document" takes ten forward passes.

    # Attributes

    started : `Event`
        The first forward pass has begun.
    let_go : `Event`
    batches : `List[List[str]]`
        The questions that were read together.
    """

    def __init__(self) -> None:
        super().__init__("slow", None)  # type: ignore[arg-type]
        self.description = ModelDescription(
            name="slow",
            kind="span",
            has_attention=False,
            takes_passages=True,
            knows_no_answer=False,
            description="",
        )
        self.started, self.let_go = Event(), Event()
        self.batches: List[List[str]] = []

    @overrides
    def check(self, record: Record) -> None:
        pass

    @overrides
    def prepare(self, record: Record) -> str:
        if record["question"] == "bad":
            raise DataError("a bad question")
        return record["question"]

    @overrides
    def answer(self, questions: Sequence[Any]) -> Iterator[Tuple[List[int], List[Record]]]:
        self.started.set()
        assert self.let_go.wait(10)
        self.batches.append(list(questions))
        if "broken" in questions:
            raise RuntimeError("nobody expected this")
        for place, question in enumerate(questions):
            for _ in range(9 if question == "document" else 0):
                yield [], []
            yield [place], [{"text": question}]

"""
What several tests of the server share: a service of tiny models, a model that waits, and clients.
"""

import io
import json
import signal
import time
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, Dict, Iterator, List, Sequence, Tuple

from overrides import overrides
from starlette.testclient import TestClient

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.server.application import create_application
from bidaf_plugin.server.models import ServedModel
from bidaf_plugin.server.run import GracefulServer, address_of, make_server, open_socket
from bidaf_plugin.server.schemas import ModelDescription
from bidaf_plugin.server.service import Service

QUESTION = "Who planted it?"
PASSAGE = "Ada planted it in 1855. Bo saw Ada planting it."
RECORD = {"question": QUESTION, "passage": PASSAGE}
HOST = "http://127.0.0.1"


@contextmanager
def serving(
    models: Sequence[ServedModel], **settings: Any
) -> Iterator[Tuple[TestClient, Service, io.StringIO]]:
    """A client of a service that runs meanwhile, the service, and its access log."""
    service = Service(models, **settings)
    log = io.StringIO()
    app = create_application(service, log_stream=log)
    with TestClient(app, HOST, raise_server_exceptions=False) as client:
        yield client, service, log


@contextmanager
def running(service: Service) -> Iterator[Tuple[str, GracefulServer]]:
    """The address of a real server that runs meanwhile in a thread, and the server."""
    log = io.StringIO()
    with open_socket("127.0.0.1", 0) as opened:
        server = make_server(service, "127.0.0.1", log)
        thread = Thread(target=server.run, kwargs={"sockets": [opened]})
        address = address_of("127.0.0.1", opened)
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield address, server
        finally:
            server.handle_exit(signal.SIGTERM, None)
            thread.join(30)
            assert not thread.is_alive()


def log_lines(log: io.StringIO) -> List[Dict[str, Any]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


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
        description = ModelDescription(
            name="slow",
            kind="span",
            has_attention=False,
            takes_passages=True,
            knows_no_answer=False,
            description="",
        )
        super().__init__(description, None)  # type: ignore[arg-type]
        self.started, self.let_go = Event(), Event()
        self.batches: List[List[str]] = []

    @overrides
    def prepare(self, record: Dict[str, Any]) -> str:
        if record["question"] == "bad":
            raise DataError("a bad question")
        return record["question"]

    @overrides
    def answer(self, questions: Sequence[Any]) -> Iterator[Tuple[List[int], List[Dict[str, Any]]]]:
        self.started.set()
        assert self.let_go.wait(10)
        self.batches.append(list(questions))
        if "broken" in questions:
            raise RuntimeError("nobody expected this")
        for index, question in enumerate(questions):
            for _ in range(9 if question == "document" else 0):
                yield [], []
            yield [index], [{"text": question}]

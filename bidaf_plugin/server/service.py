import asyncio
import time
from typing import Callable, Dict, List, Optional, Sequence

import prometheus_client
from allennlp.common.util import JsonDict

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.server.errors import RequestError
from bidaf_plugin.server.model_thread import Job, ModelThread
from bidaf_plugin.server.models import ServedModel
from bidaf_plugin.server.schemas import MAX_BATCH, Health, Limits, Models

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)

# When each series began: as many lines again, of which nobody asks.
prometheus_client.disable_created_metrics()


class Metrics:
    """
    What the server has done so far, in numbers. It may be told from any thread. `queue_length` says how many
    questions wait for their answers.
    """

    def __init__(self, queue_length: Callable[[], int]) -> None:
        self._registry = registry = prometheus_client.CollectorRegistry()
        labels = ["method", "route", "status"]
        self.requests = prometheus_client.Counter(
            "bidaf_requests", "Requests by route and status.", labels, registry=registry
        )
        self.request_seconds = prometheus_client.Histogram(
            "bidaf_request_seconds",
            "From request to response.",
            ["route"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.batch_size = prometheus_client.Histogram(
            "bidaf_batch_size", "Questions read together.", buckets=_BATCH_SIZES, registry=registry
        )
        gauge = prometheus_client.Gauge(
            "bidaf_queue_length", "Questions that wait for their answers.", registry=registry
        )
        gauge.set_function(queue_length)

    def to_text(self) -> str:
        """All of it in the text format of Prometheus."""
        return prometheus_client.generate_latest(self._registry).decode("utf-8")


class Service:
    """
    What the routes of the API do.

    # Parameters

    models : `Sequence[ServedModel]`
        The first is the default.
    max_queue : `int`, optional (default = `256`)
        Questions that are taken in and not answered yet, at most.
    timeout : `float`, optional (default = `30.0`)
        Seconds after which a request gets an error instead of its answer.
    max_batch_wait : `float`, optional (default = `0.05`)
        See `ModelThread`.

    # Attributes

    metrics : `Metrics`
    num_open_requests : `int`
        Requests without a complete response.
    is_stopping : `bool`
        Nothing new is taken in.
    """

    def __init__(
        self,
        models: Sequence[ServedModel],
        max_queue: int = 256,
        timeout: float = 30.0,
        max_batch_wait: float = 0.05,
    ) -> None:
        self._models: Dict[str, ServedModel] = {model.name: model for model in models}
        self._max_batch = min(MAX_BATCH, max_queue)
        self.timeout = timeout
        self.num_open_requests = 0
        self.is_stopping = False
        self.metrics = Metrics(lambda: self._thread.num_unanswered)
        self._thread = ModelThread(max_queue, max_batch_wait, self.metrics.batch_size.observe)

    def start(self) -> None:
        self._thread.start()

    async def stop(self) -> None:
        """Answers what was taken in, and nothing else."""
        self.is_stopping = True
        await asyncio.to_thread(self._thread.stop)

    def describe(self) -> Models:
        return Models(
            models=[model.description for model in self._models.values()],
            limits=Limits(max_batch=self._max_batch),
        )

    def health(self) -> Health:
        problem = None if self.is_stopping else self._thread.find_problem(self.timeout)
        return Health(
            status="stopping" if self.is_stopping else "failed" if problem else "ok",
            queue=self._thread.num_unanswered,
            error=problem,
        )

    def find_model(self, name: Optional[str]) -> ServedModel:
        if name is None:
            return next(iter(self._models.values()))
        if name not in self._models:
            raise RequestError(
                404, f"there is no model {name!r:.60}; there are {', '.join(self._models)}"
            )
        return self._models[name]

    async def answer(
        self, model: ServedModel, records: Sequence[JsonDict], wants_attention: bool = False
    ) -> List[JsonDict]:
        """
        Answers questions, or says what the model attends to; one that cannot be answered fails all, and
        is named.
        """
        if len(records) > self._max_batch:
            raise RequestError(413, f"'questions' has more than {self._max_batch} items")
        if self.is_stopping:
            raise RequestError(503, "the server is stopping", retry_after=5)
        deadline = time.monotonic() + self.timeout
        jobs = [Job(model, record, deadline, wants_attention) for record in records]
        self._thread.submit(jobs)
        answers: List[JsonDict] = []
        try:
            async with asyncio.timeout(self.timeout):
                for job in jobs:
                    answers.append(await asyncio.wrap_future(job.answer))
        except TimeoutError as error:
            raise RequestError(504, f"no answer within {self.timeout:g} seconds") from error
        except (DataError, RequestError) as error:
            problem = error if isinstance(error, RequestError) else RequestError(422, str(error))
            where = f"questions[{len(answers)}]: " if len(jobs) > 1 else ""
            raise RequestError(problem.status_code, f"{where}{problem.detail}") from error
        finally:
            # Nobody waits for what is not answered by now.
            for job in jobs:
                job.deadline = 0.0
        return answers

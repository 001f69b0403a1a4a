import asyncio
import time
from typing import Dict, List, Optional, Sequence

from allennlp.common.util import JsonDict

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.server.errors import RequestError
from bidaf_plugin.server.model_thread import Job, ModelThread
from bidaf_plugin.server.models import ServedModel
from bidaf_plugin.server.schemas import MAX_BATCH, Health, Limits, Models


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
        self._thread = ModelThread(max_queue, max_batch_wait)
        self.metrics = self._thread.metrics

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
            raise RequestError(
                problem.status, f"{where}{problem.message}", problem.retry_after
            ) from error
        finally:
            # Nobody waits for what is not answered by now.
            for job in jobs:
                job.deadline = 0.0
        return answers

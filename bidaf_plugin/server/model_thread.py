import logging
import threading
from collections import deque
from itertools import islice
from typing import Any, Deque, Dict, Iterator, List, Tuple

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.server.errors import RequestError
from bidaf_plugin.server.job import Job
from bidaf_plugin.server.metrics import Metrics
from bidaf_plugin.server.served_model import ServedModel
from bidaf_plugin.tokenizers.treebank_rules import forgotten_words

logger = logging.getLogger(__name__)

# Questions, and characters of passages, that are worked on at the same time.
_MAX_JOBS = 64
_MAX_CHARACTERS = 400_000
# Forward passes until it is looked whether more has come: enough for the questions above.
_STEPS_PER_TURN = 4


class ModelThread:
    """
    Answers questions in a thread of its own, those that have come meanwhile together: concurrent users share
    a forward pass. When the thread is idle, a question is answered at once. When several users
    have just got their answers, it waits a moment for their next questions.

    A document that takes many forward passes is read in turns with what comes after it, so that it does
    not keep the others waiting.

    # Parameters

    max_queue : `int`
        Questions that are taken in and not answered yet, at most.
    max_wait : `float`
        How long to wait for more questions, in seconds.
    metrics : `Metrics`
    """

    def __init__(self, max_queue: int, max_wait: float, metrics: Metrics) -> None:
        self._max_queue = max_queue
        self._max_wait = max_wait
        self._metrics = metrics
        self._has_changed = threading.Condition()
        self._waiting: Deque[Job] = deque()
        self._at_work: List[Job] = []
        self._last_batch_size = 1
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="model", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def num_unanswered(self) -> int:
        return len(self._waiting) + len(self._at_work)

    def submit(self, jobs: List[Job]) -> None:
        """Takes in all of the questions, or none if there are too many."""
        with self._has_changed:
            if self.num_unanswered + len(jobs) > self._max_queue:
                raise RequestError(
                    429, "too many questions wait for their answers; try again in a second", 1
                )
            self._waiting.extend(jobs)
            self._has_changed.notify()

    def stop(self) -> None:
        """Ends the thread, after everything that was taken in is answered."""
        with self._has_changed:
            self._is_stopping = True
            self._has_changed.notify()
        self._thread.join()

    def _run(self) -> None:
        work: Deque[Iterator[None]] = deque()
        while True:
            work.extend(self._plan(self._take(is_idle=not work)))
            if not work and self._is_stopping:
                return
            if work:
                steps = work.popleft()
                with forgotten_words():
                    num_steps = sum(1 for _ in islice(steps, _STEPS_PER_TURN))
                if num_steps == _STEPS_PER_TURN:
                    work.append(steps)
            self._at_work = [job for job in self._at_work if not job.is_over]

    def _take(self, is_idle: bool) -> List[Job]:
        """The next jobs, as many as fit beside those that are at work; waits for them if it is idle."""
        with self._has_changed:
            if is_idle:
                self._has_changed.wait_for(lambda: self._waiting or self._is_stopping)
                self._has_changed.wait_for(self._is_enough, self._max_wait)
            jobs: List[Job] = []
            num_characters = sum(job.num_characters for job in self._at_work)
            while self._waiting and len(self._at_work) < _MAX_JOBS:
                num_characters += self._waiting[0].num_characters
                if self._at_work and num_characters > _MAX_CHARACTERS:
                    break
                job = self._waiting.popleft()
                if not job.is_over and job.answer.set_running_or_notify_cancel():
                    jobs.append(job)
                    self._at_work.append(job)
            if is_idle:
                self._last_batch_size = len(jobs)
            return jobs

    def _is_enough(self) -> bool:
        return self._is_stopping or len(self._waiting) >= self._last_batch_size

    def _plan(self, jobs: List[Job]) -> List[Iterator[None]]:
        """What is to be done, in steps of a forward pass."""
        by_model: Dict[ServedModel, List[Job]] = {}
        work = []
        for job in jobs:
            if job.wants_attention:
                work.append(self._guard([job], _attend(job)))
            else:
                by_model.setdefault(job.model, []).append(job)
        for model, jobs_of_model in by_model.items():
            self._metrics.observe_batch(len(jobs_of_model))
            work.append(self._guard(jobs_of_model, _answer(model, jobs_of_model)))
        return work

    def _guard(self, jobs: List[Job], steps: Iterator[None]) -> Iterator[None]:
        """The same steps; what nobody expected fails the question that it is about, and no other."""
        try:
            yield from steps
        except Exception:
            if len(jobs) > 1:
                for job in jobs:
                    if not job.is_over:
                        yield from self._guard([job], _answer(job.model, [job]))
                return
            logger.exception("the model %r failed", jobs[0].model.name)
            jobs[0].fail(RequestError(500, "the model failed on this question"))


def _answer(model: ServedModel, jobs: List[Job]) -> Iterator[None]:
    asked: List[Tuple[Job, Any]] = []
    for job in jobs:
        try:
            asked.append((job, model.prepare(job.record)))
        except (DataError, RequestError) as error:
            job.fail(error)
    if not asked:
        return
    for places, answers in model.answer([question for _, question in asked]):
        for place, answer in zip(places, answers, strict=True):
            asked[place][0].finish(answer)
        yield
        if all(job.is_over for job in jobs):
            return


def _attend(job: Job) -> Iterator[None]:
    try:
        job.finish(job.model.find_attention(job.record))
    except (DataError, RequestError) as error:
        job.fail(error)
    yield

import logging
import threading
import time
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Tuple

from allennlp.common.util import JsonDict

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.server.errors import RequestError
from bidaf_plugin.server.models import ServedModel

logger = logging.getLogger(__name__)

# Questions, and characters of passages, that are worked on at the same time.
_MAX_JOBS = 64
_MAX_CHARACTERS = 400_000
# After so many seconds of forward passes it is looked whether more has come.
_TURN_SECONDS = 1.0
# So long a stop waits for the thread; one that hangs does not keep the process.
_STOP_SECONDS = 10.0


@dataclass(eq=False)
class Job:
    """A question on its way to a model and back."""

    model: ServedModel
    record: JsonDict
    # When nobody waits for the answer any more, by `time.monotonic`.
    deadline: float
    # Asked for is not the answer but what the model attends to.
    wants_attention: bool = False
    # What the model says, or an exception.
    answer: "Future[JsonDict]" = field(default_factory=Future)

    @property
    def num_characters(self) -> int:
        """Of all passages: how much work it is."""
        passages = self.record.get("passages") or [self.record["passage"]]
        return sum(map(len, passages))

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


Answer = Tuple[Job, JsonDict]


class ModelThread:
    """
    Answers questions in a thread of its own, those that have come meanwhile together: concurrent users
    share a forward pass. When the thread is idle, a question is answered at once. When several users
    have just got their answers, it waits a moment for their next questions.

    A document that takes many forward passes is read in turns with what comes after it, so that it does
    not keep the others waiting.

    # Parameters

    max_queue : `int`
        Questions that are taken in and not answered yet, at most.
    max_wait : `float`
        How long to wait for the next questions of those users, in seconds.
    on_batch : `Callable[[int], object]`
        Told how many questions are read together.
    """

    def __init__(self, max_queue: int, max_wait: float, on_batch: Callable[[int], object]) -> None:
        self._max_queue = max_queue
        self._max_wait = max_wait
        self._on_batch = on_batch
        self._has_changed = threading.Condition()
        self._waiting: Deque[Job] = deque()
        self._at_work: List[Job] = []
        self._num_given = 0
        self._turn_began: Optional[float] = None
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="model", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def num_unanswered(self) -> int:
        # Some of those at work have their answers already, while the others of their batch have not.
        return len(self._waiting) + sum(not job.is_over for job in self._at_work)

    def find_problem(self, max_seconds: float) -> Optional[str]:
        """What is wrong with the thread, in a sentence: it has ended, or does not get ahead."""
        if not self._thread.is_alive():
            return "the thread of the models has ended; the server must be started again"
        began = self._turn_began
        if began is not None and time.monotonic() - began > max_seconds:
            return (
                f"the models have been at the same questions for more than {max_seconds:g} seconds"
            )
        return None

    def submit(self, jobs: List[Job]) -> None:
        """Takes in all of the questions, or none if there are too many."""
        with self._has_changed:
            if not self._thread.is_alive():
                raise RequestError(503, "the models do not answer any more")
            if self.num_unanswered + len(jobs) > self._max_queue:
                raise RequestError(
                    429, "too many questions wait for their answers; try again in a second", 1
                )
            self._waiting.extend(jobs)
            self._has_changed.notify()

    def stop(self) -> None:
        """Ends the thread, after everything that was taken in is answered, if that is soon."""
        with self._has_changed:
            self._is_stopping = True
            self._has_changed.notify()
        self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        work: Deque[Iterator[List[Answer]]] = deque()
        while True:
            work.extend(self._plan(self._take(is_idle=not work)))
            if not work and self._is_stopping:
                return
            if work:
                passes = work.popleft()
                self._turn_began = time.monotonic()
                answers, is_done = _take_turn(passes)
                if not is_done:
                    work.append(passes)
                self._give(answers)
                self._turn_began = None

    def _give(self, answers: List[Answer]) -> None:
        # All at once, so that their users come back at the same time and stay together.
        for job, answer in answers:
            job.finish(answer)
        self._num_given = len(answers)
        self._at_work = [job for job in self._at_work if not job.is_over]

    def _take(self, is_idle: bool) -> List[Job]:
        """The next jobs, as many as fit beside those that are at work; waits for them if it is idle."""
        with self._has_changed:
            if is_idle:
                # Whoever has just got an answer may come back.
                num_users = min(len(self._waiting) + self._num_given, _MAX_JOBS)
                self._wait_for(1)
                self._wait_for(num_users, self._max_wait)
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
            return jobs

    def _wait_for(self, number: int, seconds: Optional[float] = None) -> None:
        """Until so many jobs wait."""
        self._has_changed.wait_for(
            lambda: len(self._waiting) >= number or self._is_stopping, seconds
        )

    def _plan(self, jobs: List[Job]) -> List[Iterator[List[Answer]]]:
        """What is to be done: for each model, the answers of one forward pass after the other."""
        batches: Dict[Tuple[ServedModel, bool], List[Job]] = {}
        for job in jobs:
            batches.setdefault((job.model, job.wants_attention), []).append(job)
        for batch in batches.values():
            self._on_batch(len(batch))
        return [_answer_with_care(batch) for batch in batches.values()]


def _take_turn(passes: Iterator[List[Answer]]) -> Tuple[List[Answer], bool]:
    """What one forward pass after the other gives, and whether these were all."""
    end = time.monotonic() + _TURN_SECONDS
    answers: List[Answer] = []
    for found in passes:
        answers += found
        if time.monotonic() >= end:
            return answers, False
    return answers, True


def _answer_with_care(jobs: List[Job]) -> Iterator[List[Answer]]:
    """What nobody expected fails the question that it is about, and no other."""
    try:
        yield from _answer(jobs)
    except Exception:
        if len(jobs) > 1:
            for job in jobs:
                if not job.is_over:
                    yield from _answer_with_care([job])
        else:
            logger.exception("the model %r failed", jobs[0].model.name)
            jobs[0].fail(RequestError(500, "the model failed on this question"))


def _answer(jobs: List[Job]) -> Iterator[List[Answer]]:
    """Answers questions that ask the same of the same model."""
    model, wants_attention = jobs[0].model, jobs[0].wants_attention
    prepare, answer = model.prepare, model.answer
    if wants_attention:
        prepare, answer = model.prepare_attention, model.attend
    asked: List[Tuple[Job, Any]] = []
    for job in jobs:
        try:
            asked.append((job, prepare(job.record)))
        except (DataError, RequestError) as error:
            job.fail(error)
    if not asked:
        return
    for indices, answers in answer([question for _, question in asked]):
        yield [(asked[index][0], found) for index, found in zip(indices, answers, strict=True)]
        if all(job.is_over for job in jobs):
            return

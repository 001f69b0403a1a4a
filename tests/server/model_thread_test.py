import time
from typing import Iterator, List

import pytest

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.server import model_thread
from bidaf_plugin.server.errors import RequestError
from bidaf_plugin.server.model_thread import Job, ModelThread
from tests.server.helpers import SlowModel


class Thread:
    def __init__(self, max_queue: int = 100, max_wait: float = 0.0) -> None:
        self.model = SlowModel()
        self.batches: List[int] = []
        self.thread = ModelThread(max_queue, max_wait, self.batches.append)
        self.thread.start()

    def ask(self, *questions: str, seconds: float = 10.0) -> List[Job]:
        jobs = [
            Job(self.model, {"question": question, "passage": "a"}, time.monotonic() + seconds)
            for question in questions
        ]
        self.thread.submit(jobs)
        return jobs

    def keep_busy(self) -> Job:
        (job,) = self.ask("first")
        assert self.model.started.wait(10)
        return job


@pytest.fixture
def thread() -> Iterator[Thread]:
    thread = Thread()
    yield thread
    thread.model.let_go.set()
    thread.thread.stop()


def text_of(job: Job) -> str:
    return job.answer.result(10)["text"]


class TestModelThread:
    def test_what_comes_while_it_is_busy_is_read_together(self, thread: Thread) -> None:
        first = thread.keep_busy()
        others = thread.ask("b", "c") + thread.ask("d")
        assert thread.thread.num_unanswered == 4
        thread.model.let_go.set()
        assert [text_of(job) for job in (first, *others)] == ["first", "b", "c", "d"]
        assert thread.model.batches == [["first"], ["b", "c", "d"]]
        assert thread.batches == [1, 3]
        assert first.answer.result()["model"] == "slow"

    def test_a_bad_question_fails_alone(self, thread: Thread) -> None:
        thread.keep_busy()
        good, bad, other = thread.ask("a", "bad", "b")
        thread.model.let_go.set()
        assert [text_of(good), text_of(other)] == ["a", "b"]
        with pytest.raises(DataError, match="a bad question"):
            bad.answer.result(10)

    def test_what_the_model_cannot_do_fails_alone(
        self, thread: Thread, caplog: pytest.LogCaptureFixture
    ) -> None:
        thread.keep_busy()
        good, broken, other = thread.ask("a", "broken", "b")
        thread.model.let_go.set()
        assert [text_of(good), text_of(other)] == ["a", "b"]
        with pytest.raises(RequestError, match="failed on this question") as caught:
            broken.answer.result(10)
        assert caught.value.status_code == 500
        assert "nobody expected this" in caplog.text

    def test_too_many_are_refused(self) -> None:
        thread = Thread(max_queue=3)
        first = thread.keep_busy()
        waiting = thread.ask("b", "c")
        with pytest.raises(RequestError) as caught:
            thread.ask("d")
        assert (caught.value.status_code, caught.value.headers) == (429, {"Retry-After": "1"})
        thread.model.let_go.set()
        assert [text_of(job) for job in (first, *waiting)] == ["first", "b", "c"]
        assert text_of(*thread.ask("d")) == "d"
        thread.thread.stop()

    def test_what_nobody_waits_for_is_not_read(self, thread: Thread) -> None:
        thread.keep_busy()
        late, cancelled, good = thread.ask("late", "cancelled", "good")
        late.deadline = 0.0
        cancelled.answer.cancel()
        thread.model.let_go.set()
        assert text_of(good) == "good"
        assert thread.model.batches == [["first"], ["good"]]

    def test_a_document_takes_turns_with_others(
        self, thread: Thread, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(model_thread, "_TURN_SECONDS", 0.0)
        answered: List[str] = []
        jobs = thread.ask("document", "x", "y")
        assert thread.model.started.wait(10)
        for job in [*jobs, *thread.ask("short")]:
            job.answer.add_done_callback(lambda done: answered.append(done.result()["text"]))
        thread.model.let_go.set()
        thread.thread.stop()
        assert sorted(answered) == ["document", "short", "x", "y"]
        assert answered.index("short") < answered.index("y")

    def test_it_answers_everything_before_it_stops(self, thread: Thread) -> None:
        jobs = [thread.keep_busy(), *thread.ask(*"abc"), *thread.ask(*"def")]
        thread.model.let_go.set()
        thread.thread.stop()
        assert [job.answer.result(0)["text"] for job in jobs] == ["first", *"abcdef"]

    def test_it_says_when_it_does_not_get_ahead(self, thread: Thread) -> None:
        assert thread.thread.find_problem(0.0) is None
        job = thread.keep_busy()
        assert thread.thread.find_problem(60.0) is None
        problem = thread.thread.find_problem(0.0)
        assert problem == "the models have been at the same questions for more than 0 seconds"
        thread.model.let_go.set()
        assert text_of(job) == "first"
        thread.thread.stop()
        assert "the thread of the models has ended" in str(thread.thread.find_problem(60.0))

    def test_a_stop_does_not_wait_for_a_model_that_hangs(
        self, thread: Thread, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(model_thread, "_STOP_SECONDS", 0.1)
        job = thread.keep_busy()
        thread.thread.stop()
        assert not job.answer.done()

    def test_several_users_are_waited_for_and_one_is_not(self) -> None:
        # So long that the test would fail if it waited for the whole time.
        thread = Thread(max_wait=600.0)
        thread.model.let_go.set()
        assert [text_of(*thread.ask(question)) for question in "ab"] == ["a", "b"]
        assert [text_of(job) for job in thread.ask("c", "d")] == ["c", "d"]
        (first,) = thread.ask("e")
        time.sleep(0.05)
        assert not first.answer.done()
        (second,) = thread.ask("f")
        assert [text_of(first), text_of(second)] == ["e", "f"]
        assert thread.model.batches == [["a"], ["b"], ["c", "d"], ["e", "f"]]
        thread.thread.stop()

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict
from unittest.mock import Mock

import pytest

from tests.server.helpers import SlowModel, serving


def body(question: str) -> Dict[str, Any]:
    return {"question": question, "passage": "Ada."}


class TestService:
    def test_too_many_questions_are_refused_and_those_before_are_answered(self) -> None:
        model = SlowModel()
        with serving([model], max_queue=2) as (client, _, _), ThreadPoolExecutor() as pool:
            first = pool.submit(client.post, "/api/answer", json=body("a"))
            assert model.started.wait(10)
            many = {"questions": [body("b"), body("c")]}
            refused = client.post("/api/answers", json=many)
            assert refused.status_code == 429
            assert refused.headers["retry-after"] == "1"
            assert "too many questions" in refused.json()["error"]
            assert client.get("/api/health").json() == {"status": "ok", "queue": 1}
            model.let_go.set()
            assert first.result().json() == {"model": "slow", "text": "a"}
            assert client.post("/api/answers", json=many).status_code == 200
            # What would never fit is another matter.
            assert client.get("/api/models").json()["limits"]["max_batch"] == 2
            more = {"questions": [body("b")] * 3}
            assert client.post("/api/answers", json=more).status_code == 413

    def test_a_late_answer_is_an_error_and_nothing_stays_behind(self) -> None:
        model = SlowModel()
        with serving([model], timeout=0.2) as (client, service, _):
            late = client.post("/api/answer", json=body("a"))
            assert late.status_code == 504
            assert late.json() == {"error": "no answer within 0.2 seconds"}
            model.let_go.set()
            assert client.post("/api/answer", json=body("b")).json()["text"] == "b"
            assert service.health().queue == 0

    def test_a_stop_answers_what_was_taken_in_and_refuses_the_rest(self) -> None:
        model = SlowModel()
        with ThreadPoolExecutor() as pool, serving([model]) as (client, service, _):
            accepted = [pool.submit(client.post, "/api/answer", json=body("a")) for _ in range(3)]
            while service.health().queue < 3:
                assert model.started.wait(10)
            service.is_stopping = True
            refused = client.post("/api/answer", json=body("b"))
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "5"
            assert refused.headers["connection"] == "close"
            health = client.get("/api/health")
            assert (health.status_code, health.json()["status"]) == (503, "stopping")
            model.let_go.set()
            assert [job.result().json()["text"] for job in accepted] == ["a", "a", "a"]

    def test_health_sees_a_model_that_hangs(self) -> None:
        model = SlowModel()
        with serving([model], timeout=0.2) as (client, _, _):
            assert client.post("/api/answer", json=body("a")).status_code == 504
            # It may have begun a moment later.
            time.sleep(0.2)
            health = client.get("/api/health")
            assert (health.status_code, health.json()["status"]) == (503, "failed")
            assert "at the same questions for more than 0.2 seconds" in health.json()["error"]
            model.let_go.set()
            assert client.post("/api/answer", json=body("b")).status_code == 200
            assert client.get("/api/health").json() == {"status": "ok", "queue": 0}

    @pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
    def test_health_sees_a_thread_that_has_ended(self, monkeypatch: pytest.MonkeyPatch) -> None:
        model = SlowModel()
        with serving([model], timeout=1.0) as (client, _, _):
            assert client.get("/api/health").status_code == 200
            monkeypatch.setattr(model, "prepare", Mock(side_effect=SystemExit))
            assert client.post("/api/answer", json=body("a")).status_code == 504
            health = client.get("/api/health")
            assert health.status_code == 503
            assert health.json()["error"].startswith("the thread of the models has ended")
            refused = client.post("/api/answer", json=body("a"))
            assert (refused.status_code, refused.json()["error"]) == (
                503,
                "the models do not answer any more",
            )

    def test_a_bad_question_among_several_is_named(self) -> None:
        model = SlowModel()
        model.let_go.set()
        with serving([model]) as (client, _, _):
            for question, status, message in (
                ("bad", 422, "questions[1]: a bad question"),
                ("broken", 500, "questions[1]: the model failed on this question"),
            ):
                response = client.post(
                    "/api/answers", json={"questions": [body("a"), body(question)]}
                )
                assert (response.status_code, response.json()["error"]) == (status, message)
                alone = client.post("/api/answer", json=body(question))
                assert alone.json() == {"error": message.partition(": ")[2]}

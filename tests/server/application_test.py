import json
from pathlib import Path
from typing import Any, Dict, List
from urllib.parse import urljoin, urlsplit

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance
from starlette.testclient import TestClient

from bidaf_plugin.archives import load_predictor
from bidaf_plugin.server.models import ServedModel
from bidaf_plugin.server.schemas import AttentionAnswer, ClozeAnswer, SpanAnswer
from bidaf_plugin.server.service import Service
from tests.cloze_helpers import ARTICLE
from tests.cloze_helpers import QUESTION as GAP
from tests.html_helpers import Page
from tests.server.helpers import PASSAGE, QUESTION, RECORD, log_lines, running, serving

CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance]
UNICODE_PASSAGES = [
    "Ada 🎉🎉 planted 👩‍👩‍👧‍👦 it in 1855 🌳.",
    "נטעה אותו עדה ב-1855. زرعته آدا عام ١٨٥٥.",
    "A\u0301da plante\u0301d i\u0308t\u200b in\u00a01855\u2028 ok",
    "<script>alert('Ada')</script> & \"it\" \x00\x1b\ufeff was planted\r\n\tin 1855",
    "\U0001d400\U0001d41d\U0001d41a planted it",
    "樹は1855年にエイダによって植えられた。",
]


def post(client: TestClient, body: Any, path: str = "/api/answer") -> Dict[str, Any]:
    response = client.post(path, json=body)
    assert response.status_code == 200, response.text
    return response.json()


class TestAnswers:
    def test_are_those_of_the_predictor(self, client: TestClient, tiny_archive: Path) -> None:
        expected = load_predictor(tiny_archive, n_best=3).predict(QUESTION, PASSAGE, id="7")
        answer = post(client, {**RECORD, "id": "7", "n_best": 3})
        assert answer == {"model": "run", **expected}

    def test_of_a_model_that_knows_no_answer(self, client: TestClient) -> None:
        answer = post(client, {**RECORD, "model": "run-2"})
        assert answer["model"] == "run-2"
        assert 0 <= answer["no_answer_probability"] <= 1
        assert "n_best" not in answer

    def test_to_several_passages(self, client: TestClient) -> None:
        answer = post(client, {"question": QUESTION, "passages": ["Nobody.", PASSAGE], "n_best": 2})
        passage = ["Nobody.", PASSAGE][answer["passage_index"]]
        start, end = answer["best_span_characters"]
        assert passage[start:end] == answer["best_span_str"]

    def test_to_gaps(self, client: TestClient) -> None:
        names = {"@entity1": "Ada Orn"}
        gap = {"question": GAP, "passage": ARTICLE, "names": names, "model": "run-3"}
        answer = post(client, gap)
        assert answer["best_entity"] in {item["entity"] for item in answer["candidates"]}
        (ada,) = (item for item in answer["candidates"] if item["entity"] == "@entity1")
        assert ada["name"] == "Ada Orn"
        for mention in ada["mentions"]:
            start, end = mention["characters"]
            assert ARTICLE[start:end] == "@entity1"

    def test_to_many_questions_are_in_their_order(self, client: TestClient) -> None:
        questions: List[Dict[str, Any]] = [
            {"question": QUESTION, "passage": PASSAGE * (1 + number % 3), "id": str(number)}
            for number in range(7)
        ]
        questions[3]["n_best"] = 4
        answers = post(client, {"questions": questions}, "/api/answers")["answers"]
        assert [answer["id"] for answer in answers] == list("0123456")
        assert len(answers[3]["n_best"]) == 4
        assert "n_best" not in answers[2]
        alone = post(client, questions[3])
        for found, expected in zip(answers[3]["n_best"], alone["n_best"], strict=True):
            assert found.pop("probability") == pytest.approx(expected.pop("probability"), rel=1e-4)
            assert found == expected

    @pytest.mark.parametrize("passage", UNICODE_PASSAGES)
    def test_point_at_the_right_characters(self, client: TestClient, passage: str) -> None:
        answer = post(client, {"question": "עדה 🎉 <b>?", "passage": passage, "n_best": 20})
        for found in answer["n_best"]:
            start, end = found["characters"]
            assert passage[start:end] == found["text"] != ""
        start, end = answer["best_span_characters"]
        assert passage[start:end] == answer["best_span_str"]

    @pytest.mark.parametrize("character", ["a", "(", "🎉", "\u200b", "'", "א", "1", "-"])
    def test_to_a_passage_of_one_character(self, client: TestClient, character: str) -> None:
        passage = character * 3_000
        response = client.post("/api/answer", json={"question": "?", "passage": passage})
        assert response.status_code == 200, response.text


class TestAttention:
    @pytest.mark.parametrize("passage", UNICODE_PASSAGES)
    def test_is_by_word(self, client: TestClient, passage: str) -> None:
        question = "🎉 Who planted it?"
        found = post(client, {"question": question, "passage": passage}, "/api/attention")
        for name, text in (("question", question), ("passage", passage)):
            words, offsets = found[f"{name}_words"], found[f"{name}_offsets"]
            assert [text[start:end] for start, end in offsets] == words
        assert len(found["matrix"]) == len(found["question_words"])
        for column in zip(*found["matrix"], strict=True):
            assert sum(column) == pytest.approx(1, abs=1e-4)
        assert sum(found["passage_weights"]) == pytest.approx(1, abs=1e-4)

    def test_of_long_texts_is_refused(self, client: TestClient) -> None:
        for record in (
            {"question": "Who?", "passage": "a " * 1001},
            {"question": "a " * 201, "passage": "Ada."},
        ):
            response = client.post("/api/attention", json=record)
            assert response.status_code == 413
            assert "tokens" in response.json()["error"]

    def test_of_a_cloze_model_is_refused(self, client: TestClient) -> None:
        body = {"question": GAP, "passage": ARTICLE, "model": "run-3"}
        response = client.post("/api/attention", json=body)
        assert response.status_code == 422
        assert "'run-3' has no attention" in response.json()["error"]


class TestPages:
    def test_models(self, client: TestClient) -> None:
        found = client.get("/api/models").json()
        kinds = [(model["name"], model["kind"]) for model in found["models"]]
        assert kinds == [("run", "span"), ("run-2", "span"), ("run-3", "cloze")]
        assert [model["knows_no_answer"] for model in found["models"]] == [False, True, False]
        assert [model["has_attention"] for model in found["models"]] == [True, True, False]
        assert found["models"][0]["description"].startswith("alpha trilinear, beta concat")
        assert found["limits"]["max_passage_characters"] == 200_000

    def test_page_and_documentation_load_only_from_here(self, client: TestClient) -> None:
        for path in ("/", "/docs"):
            response = client.get(path)
            assert response.status_code == 200
            assert "default-src 'self'" in response.headers["content-security-policy"]
            assert response.headers["x-content-type-options"] == "nosniff"
            assert response.headers["referrer-policy"] == "no-referrer"
            for tag, attributes in Page(response.text).elements:
                source = attributes.get("src") or (tag == "link" and attributes.get("href"))
                if source:
                    assert not urlsplit(source).netloc
                    assert client.get(urljoin(path, source)).status_code == 200
        assert client.get("/openapi.json").json()["info"]["title"] == "BiDAF"

    def test_nothing_outside_of_the_page_is_served(self, client: TestClient) -> None:
        for path in ("/page/../service.py", "/page/%2e%2e/service.py", "/page/nothing.js", "/no"):
            assert client.get(path).status_code == 404
        assert client.get("/api/answer").status_code == 405
        assert client.put("/api/models", json={}).status_code == 405
        assert client.post("/api/models").status_code == 405
        assert client.patch("/api/answer").status_code == 405

    def test_metrics_and_access_log(self, served_models: List[ServedModel]) -> None:
        with serving(served_models) as (client, _, log):
            secret = "Who is @secret?"
            for _ in range(2):
                post(client, {"question": secret, "passage": PASSAGE})
            client.get("/no/such/" + "x" * 500)
            client.post("/api/answer", content=b"{")
            assert client.get("/api/health").json() == {"status": "ok", "queue": 0}
            metrics = client.get("/metrics").text
        first, _, missing, *_ = log_lines(log)
        assert (first["path"], first["status"]) == ("/api/answer", 200)
        assert (first["model"], first["questions"]) == ("run", 1)
        assert first["milliseconds"] > 0
        assert missing["status"] == 404 and len(missing["path"]) == 200
        assert "secret" not in log.getvalue()
        for line in (
            'bidaf_requests_total{method="POST",route="/api/answer",status="200"} 2.0',
            'bidaf_requests_total{method="POST",route="/api/answer",status="415"} 1.0',
            'bidaf_requests_total{method="GET",route="other",status="404"} 1.0',
            'bidaf_request_seconds_count{route="/api/answer"} 3.0',
            "bidaf_batch_size_sum 2.0",
            "bidaf_queue_length 0.0",
        ):
            assert line in metrics.splitlines()

    def test_methods_that_clients_make_up_are_counted_together(
        self, served_models: List[ServedModel]
    ) -> None:
        with serving(served_models) as (client, _, log):
            for method in ("BREW", 'A"}', "X" * 5_000, "DELETE"):
                assert client.request(method, "/api/models").status_code == 405
            metrics = client.get("/metrics").text
        methods = [line["method"] for line in log_lines(log)]
        assert methods == ["other", "other", "other", "DELETE", "GET"]
        counted = [line for line in metrics.splitlines() if line.startswith("bidaf_requests_total")]
        assert sorted(counted) == [
            'bidaf_requests_total{method="DELETE",route="/api/models",status="405"} 1.0',
            'bidaf_requests_total{method="other",route="/api/models",status="405"} 3.0',
        ]

    @pytest.mark.parametrize(
        "wanted", ["bytes=5-2", "bytes=99999999-", "bites=0-1", "x", "bytes=0-1"]
    )
    def test_files_are_sent_whole_whatever_part_is_asked_for(
        self, client: TestClient, wanted: str
    ) -> None:
        for path in ("/", "/docs", "/page/page.js", "/docs/files/start.js"):
            whole = client.get(path)
            response = client.get(path, headers={"Range": wanted})
            assert (response.status_code, response.content) == (200, whole.content)
            assert "accept-ranges" not in response.headers

    def test_foreign_hosts_are_refused(self, client: TestClient) -> None:
        for host, status in (
            ("evil.example", 400),
            ("127.0.0.1.evil.example:8000", 400),
            ("[", 400),
            ("", 400),
            ("localhost:8000", 200),
            ("[::1]:8000", 200),
        ):
            response = client.get("/api/health", headers={"Host": host})
            assert response.status_code == status, host
            assert "access-control-allow-origin" not in response.headers


def test_the_documented_answers_are_what_is_given(client: TestClient) -> None:
    for path, body, schema in (
        ("/api/answer", {**RECORD, "n_best": 2}, SpanAnswer),
        ("/api/answer", {"question": QUESTION, "passages": [PASSAGE]}, SpanAnswer),
        ("/api/answer", {**RECORD, "model": "run-2"}, SpanAnswer),
        ("/api/answer", {"question": GAP, "passage": ARTICLE, "model": "run-3"}, ClozeAnswer),
        ("/api/attention", RECORD, AttentionAnswer),
    ):
        answer = post(client, body, path)
        read = schema.model_validate_json(json.dumps(answer))  # type: ignore[attr-defined]
        assert read.model_dump(mode="json", exclude_unset=True) == answer


def test_the_description_holds_for_any_request(served_models: List[ServedModel]) -> None:
    with running(Service(served_models)) as (address, _):
        check_all(address)


def check_all(address: str) -> None:
    schema = schemathesis.openapi.from_url(f"{address}/openapi.json")
    paths = set()
    for result in schema.get_all_operations():
        operation = result.ok()  # type: ignore[union-attr]
        paths.add(operation.path)

        @given(case=operation.as_strategy())
        @settings(
            max_examples=20,
            deadline=None,
            derandomize=True,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def check(case: schemathesis.Case) -> None:
            case.call_and_validate(checks=CHECKS)

        check()
    assert paths == {
        "/api/answer", "/api/answers", "/api/attention", "/api/models", "/api/health", "/metrics",
    }  # fmt: skip

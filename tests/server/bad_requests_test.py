import json
from typing import Any, Dict, Optional

import pytest
from pydantic import ValidationError
from starlette.testclient import TestClient

from bidaf_plugin.server.middleware import MAX_BODY_BYTES
from bidaf_plugin.server.schemas import AnswersRequest
from tests.cloze_helpers import ARTICLE
from tests.server.helpers import PASSAGE, QUESTION, RECORD

JSON = {"Content-Type": "application/json"}


def refused(
    client: TestClient,
    status: int,
    content: Any,
    path: str = "/api/answer",
    headers: Optional[Dict[str, str]] = None,
) -> str:
    """The sentence that a body is refused with."""
    response = client.post(path, content=content, headers=JSON if headers is None else headers)
    assert response.status_code == status, response.text
    assert list(response.json()) == ["error"]
    assert "Traceback" not in response.text and "\n" not in response.json()["error"]
    return response.json()["error"]


def with_changes(**changes: Any) -> str:
    return json.dumps({**RECORD, **changes})


class TestBadRequests:
    @pytest.mark.parametrize(
        "content, message",
        [
            (b"", "not JSON"),
            (b"{", "not JSON"),
            (b"question=Who", "not JSON"),
            (b'{"question": "caf\xe9"}', "not UTF-8 (byte 17)"),
            (json.dumps(RECORD).encode("utf-16"), "not UTF-8"),
            (b"[" * 100_000, "too deeply nested"),
            (b'{"question":' * 50_000 + b"1" + b"}" * 50_000, "too deeply nested"),
            (b'{"n_best": ' + b"9" * 5_000 + b"}", "not JSON"),
            (b'{"id": NaN}', "not JSON: there are no numbers like NaN"),
            (b'{"n_best": -1e999}', "not JSON: there are no numbers like -1e999"),
        ],
    )
    def test_what_is_not_json(self, client: TestClient, content: bytes, message: str) -> None:
        assert message in refused(client, 400, content)

    @pytest.mark.parametrize(
        "content, message",
        [
            ("null", "the body must be an object"),
            ("[]", "the body must be an object"),
            ("[" * 500 + "]" * 500, "the body must be an object"),
            ("{}", "'question' is missing"),
            (with_changes(question=""), "'question' is empty"),
            (with_changes(question=" \n\t\u00a0"), "'question' is empty"),
            (with_changes(question="\x1c"), "'question' is empty"),
            (with_changes(question=5), "'question' must be a string"),
            (with_changes(question=["Who?"]), "'question' must be a string"),
            (with_changes(question="\ud800"), "'question' is not text"),
            (with_changes(passage=None), "expected either 'passage' or 'passages'"),
            (with_changes(passage={"text": "a"}), "'passage' must be a string"),
            (with_changes(passage=" "), "'passage' is empty"),
            (with_changes(passages=["a"]), "expected either 'passage' or 'passages'"),
            (with_changes(passage=None, passages=[]), "'passages' must have at least 1 item"),
            (with_changes(passage=None, passages="a"), "'passages' must be a list"),
            (with_changes(passage=None, passages=["a", ""]), "'passages[1]' is empty"),
            (with_changes(n_best=0), "'n_best' must be at least 1"),
            (with_changes(n_best=21), "'n_best' must be at most 20"),
            (with_changes(n_best=10**1000), "'n_best' must be at most 20"),
            (with_changes(n_best=1.5), "'n_best' must be a whole number"),
            (with_changes(n_best="2"), "'n_best' must be a whole number"),
            (with_changes(n_best=True), "'n_best' must be a whole number"),
            (with_changes(id=7), "'id' must be a string"),
            (with_changes(names=["Ada"]), "'names' must be an object of strings"),
            (with_changes(names={"@entity1": "Ada"}), "'names' are for cloze models"),
            (with_changes(pasage="a"), "'pasage' is not known here"),
            (with_changes(**{"\ud800": 1}), "not"),
            (with_changes(**{"a\nb\u2028\x1b[0m": 1}), r"'a\nb\u2028\x1b[0m' is not known here"),
            (with_changes(**{"x" * 10_000: 1}), "not known here"),
            (with_changes(model=3), "'model' must be a string"),
        ],
    )
    def test_wrong_fields(self, client: TestClient, content: str, message: str) -> None:
        error = refused(client, 422, content)
        assert message in error and len(error) < 200

    @pytest.mark.parametrize(
        "record, message",
        [
            ({"question": "Who met?"}, "no @placeholder"),
            ({"passage": "Ada met Bo."}, "no entity"),
            ({"names": {"entity1": "Ada"}}, "'names' has 'entity1'"),
            ({"passage": None, "passages": [ARTICLE]}, "several 'passages'"),
        ],
    )
    def test_wrong_gaps(self, client: TestClient, record: Dict[str, Any], message: str) -> None:
        gap = {"question": "@placeholder met", "passage": ARTICLE, "model": "run-3", **record}
        assert message in refused(client, 422, json.dumps(gap))

    @pytest.mark.parametrize(
        "content, message",
        [
            (b" " * (MAX_BODY_BYTES + 1), "the body has more than 1,000,000 bytes"),
            (with_changes(passage="a" * 2**20), "the body has more than"),
            (b"\xff" * 3_000_000, "the body has more than"),
            (with_changes(passage="a" * 200_001), "'passage' has more than 200,000 characters"),
            (with_changes(question="a" * 2_001), "'question' has more than 2,000 characters"),
            (with_changes(passage=None, passages=["a"] * 51), "'passages' has more than 50 items"),
            (with_changes(id="a" * 201), "'id' has more than 200 characters"),
            (with_changes(**dict.fromkeys(map(str, range(80_000)), 1)), "more than 1,000 fields"),
            (with_changes(names=dict.fromkeys(map(str, range(1_001)), "a")), "more than 1,000"),
            (
                with_changes(model="run-3", question="@placeholder", passage="@entity1 " * 20_000),
                "a cloze model reads at most",
            ),
            # A window is read with its question, which has a thousand words here.
            (
                with_changes(
                    model="run-3", question="@placeholder" + " a" * 990, passage="@entity1 " * 100
                ),
                "count as",
            ),
        ],
    )
    def test_too_large(self, client: TestClient, content: Any, message: str) -> None:
        assert message in refused(client, 413, content)

    def test_a_bad_question_among_several_is_named(self, client: TestClient) -> None:
        for question, message in (
            ({"question": QUESTION}, "'questions[1]': expected either"),
            ({"question": "\x1c", "passage": PASSAGE}, "questions[1]: 'question' is empty"),
            ({**RECORD, "model": "run"}, "'questions[1].model' is not known here"),
        ):
            body = json.dumps({"questions": [RECORD, question]})
            assert message in refused(client, 422, body, "/api/answers")
        body = json.dumps({"questions": [RECORD] * 101})
        assert "'questions' has more than 100" in refused(client, 413, body, "/api/answers")
        assert "'questions'" in refused(client, 422, '{"questions": []}', "/api/answers")
        gaps = [{"question": gap, "passage": ARTICLE} for gap in ("@placeholder met", "Who?")]
        body = json.dumps({"questions": gaps, "model": "run-3"})
        assert "questions[1]: " in refused(client, 422, body, "/api/answers")

    def test_the_first_bad_question_is_the_last_that_is_looked_at(self) -> None:
        # Each error takes its time, in which the server does nothing else.
        bad = {**RECORD, **dict.fromkeys(map(str, range(900)), 1)}
        with pytest.raises(ValidationError) as caught:
            AnswersRequest.model_validate({"questions": [bad] * 80})
        assert caught.value.error_count() == 900

    def test_other_types_and_models(self, client: TestClient) -> None:
        content = json.dumps(RECORD)
        for content_type in ("text/plain", "application/json; charset=latin-1", "", "a/b/c;;="):
            headers = {"Content-Type": content_type}
            assert "application/json" in refused(client, 415, content, headers=headers)
        error = refused(client, 404, with_changes(model="<script>"))
        assert error == "there is no model '<script>'; there are run, run-2, run-3"

    def test_fields_may_be_null(self, client: TestClient) -> None:
        content = with_changes(passages=None, id=None, n_best=None, names=None, model=None)
        response = client.post("/api/answer", content=content, headers=JSON)
        assert response.status_code == 200

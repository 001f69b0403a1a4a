from typing import List

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    response_schema_conformance,
    status_code_conformance,
)

from bidaf_plugin.server.served_model import ServedModel
from bidaf_plugin.server.service import Service
from tests.server.helpers import running

CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance]


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

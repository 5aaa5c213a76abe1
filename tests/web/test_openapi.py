"""Requests made up from the service's own description: it must keep its promises, whatever comes."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.web.conftest import serving

pytest.importorskip("schemathesis", reason="schemathesis is not installed")
schemathesis = importlib.import_module("schemathesis")
checks = importlib.import_module("schemathesis.specs.openapi.checks")
OPERATIONS = [
    "POST /api/search",
    "POST /api/similar",
    "POST /api/distance",
    "POST /api/explain",
    "GET /api/related",
    "GET /api/fields",
    "GET /api/map",
    "GET /api/map/{part}",
    "GET /api/documents",
    "POST /api/documents",
    "GET /api/documents/{id}",
    "DELETE /api/documents/{id}",
    "GET /api/stats",
    "GET /healthz",
    "GET /metrics",
]
CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.positive_data_acceptance,
    checks.negative_data_rejection,
    checks.allow_header_conformance,
    checks.unsupported_method,
]


@pytest.fixture(scope="module")
def operations(built_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What a real service, which may be written to, says it can do."""
    path = tmp_path_factory.mktemp("fuzzed") / "index"
    shutil.copytree(built_index, path)
    with serving(path, "--quiet", "--max-batch", "4", WORDFERRY_WRITER_TOKEN="writer") as (address, process):
        described = httpx.get(f"{address}/openapi.json").json()
        for operation in (one for path in described["paths"].values() for one in path.values()):
            operation.pop("security", None)  # on loopback a reader needs no token; test_service has those that do
        schema = schemathesis.openapi.from_dict(described)
        schema.config.base_url = address
        # What follows the schema is answered, or refused for its meaning (422) or because it is not there (404); what
        # does not follow it is always a 400 or 415, or another address.
        schema.config.checks.positive_data_acceptance.expected_statuses = ["2xx", "404", "422"]
        schema.config.checks.negative_data_rejection.expected_statuses = ["400", "404", "405", "415"]
        yield {result.ok().label: result.ok() for result in schema.get_all_operations()}
        assert process.poll() is None, "the service died"


def test_all_operations_are_tried(operations: dict[str, Any]) -> None:
    assert sorted(operations) == sorted(OPERATIONS)


@pytest.mark.parametrize("mode", ["positive", "negative"])
@pytest.mark.parametrize("label", OPERATIONS)
def test_promises(operations: dict[str, Any], label: str, mode: str) -> None:
    """Status, type and shape of every answer are those described; bad data are refused; nothing is a 5xx."""
    operation = operations[label]
    if mode == "negative" and not (operation.body or operation.query):
        pytest.skip("takes nothing that could be wrong")
    strategy = operation.as_strategy(generation_mode=schemathesis.GenerationMode(mode))

    @settings(
        max_examples=15,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy)
    def try_case(case: Any) -> None:
        case.call_and_validate(headers={"authorization": "Bearer writer"}, checks=CHECKS)

    try_case()

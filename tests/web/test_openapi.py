"""Requests made up from the service's own description: it must keep its promises, whatever comes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.web.conftest import open_client

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")


@pytest.fixture(scope="module")
def served(built_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A service that may be written to."""
    path = tmp_path_factory.mktemp("fuzzed") / "index"
    shutil.copytree(built_index, path)
    with open_client(path, writer_token="writer") as client:
        yield client


@pytest.fixture(scope="module")
def api_schema(served: Any) -> Any:
    return schemathesis.openapi.from_asgi("/openapi.json", served.app)


schema = schemathesis.pytest.from_fixture("api_schema")


@schema.parametrize()
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_promises(case: Any, served: Any) -> None:
    """Status, type and shape of every answer are those described; nothing is a 5xx but the described 503."""
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    headers = {"authorization": "Bearer writer", **dict(case.headers or {})}
    if "authorization" not in {name.lower() for name in dict(case.headers or {})}:
        case.headers = headers
    case.call_and_validate(
        session=served,
        checks=[
            not_a_server_error,
            checks.status_code_conformance,
            checks.content_type_conformance,
            checks.response_schema_conformance,
            checks.negative_data_rejection,
        ],
    )

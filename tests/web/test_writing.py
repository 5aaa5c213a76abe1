"""The service: who may write, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import wordferry
from tests.web.conftest import DOCUMENTS, QUERY, WRITER, open_client, post, stored
from wordferry.web import routes


def test_writing_is_a_right_of_the_router(own_index: Path) -> None:
    """A new route that writes needs the writer token at any address; put among the readers it fails."""
    with open_client(own_index, token="reader", writer_token="writer") as client:
        service = client.app.state.service

        async def empty() -> dict[str, str]:
            await service.write(service.engine.delete, "computing-01")
            return {}

        writer, forgotten = routes.writing(service), routes.reading(service)
        writer.add_api_route("/empty", empty, methods=["POST", "GET"])
        forgotten.add_api_route("/forgotten", empty, methods=["POST"])
        client.app.include_router(writer)
        client.app.include_router(forgotten)
        for method in ("GET", "POST"):
            assert client.request(method, "/api/empty").status_code == 401
            assert client.request(method, "/api/empty", headers={"authorization": "Bearer reader"}).status_code == 403
        assert client.post("/api/forgotten", headers=WRITER).status_code == 500
        assert client.get("/api/documents/computing-01", headers=WRITER).status_code == 200
        assert client.post("/api/empty", headers=WRITER).status_code == 200
        assert client.get("/api/documents/computing-01", headers=WRITER).status_code == 404
        assert client.get("/some/new/page").status_code == 401


def test_read_only_without_a_writer_token(reader: Any) -> None:
    body = {"documents": [{"text": QUERY}]}
    assert "read-only" in post(reader, "/api/documents", body, 403)["error"]
    assert reader.delete("/api/documents/computing-01").status_code == 403
    assert reader.get("/api/documents/computing-01").status_code == 200


def test_tokens(built_index: Path) -> None:
    with open_client(built_index, token="reader", writer_token="writer") as client:
        assert client.get("/healthz").status_code == 200
        assert client.get("/").status_code == 200
        for path in ("/api/stats", "/metrics", "/openapi.json"):
            answer = client.get(path)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
            assert client.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401
            assert client.get(path, headers={"authorization": "Basic reader"}).status_code == 401
            assert client.get(path, headers={"authorization": "Bearer reader"}).status_code == 200
            assert client.get(path, headers=WRITER).status_code == 200
        deletion = client.delete("/api/documents/nobody", headers={"authorization": "Bearer reader"})
        assert deletion.status_code == 403
        assert client.delete("/api/documents/nobody").status_code == 401
        assert client.delete("/api/documents/nobody", headers=WRITER).status_code == 404
        assert client.get("/api/stats", headers={"authorization": "Bearer reader", "host": "a.b"}).status_code == 200


def test_writing(own_index: Path) -> None:
    with open_client(own_index, writer_token="writer") as client:
        new = {
            "id": "new-1",
            "text": "Sailors ferry words over the river",
            "label": "boats",
            "metadata": {"year": 2020},
        }
        body = {"documents": [new, {"text": "An anonymous sailor"}]}
        ids = post(client, "/api/documents", body, 201, headers=WRITER)["ids"]
        assert ids[0] == "new-1"
        assert len(ids) == 2
        assert client.get("/api/documents/new-1").json() == new
        hits = post(client, "/api/search", {"texts": ["ferry sailors"], "k": 2})["results"][0]["hits"]
        assert hits[0]["id"] == "new-1" or hits[1]["id"] == "new-1"
        assert "new-1" in post(client, "/api/documents", body, 422, headers=WRITER)["error"]
        changed = {"documents": [new | {"text": "Boats"}], "replace": True}
        post(client, "/api/documents", changed, 201, headers=WRITER)
        assert client.get("/api/documents/new-1").json()["text"] == "Boats"
        assert client.delete("/api/documents/new-1", headers=WRITER).json() == {"deleted": "new-1"}
        assert client.get("/api/documents/new-1").status_code == 404
        assert client.delete("/api/documents/new-1", headers=WRITER).status_code == 404
        assert stored(client) == DOCUMENTS + 1
    with wordferry.Index.open(own_index) as index:
        assert len(index) == DOCUMENTS + 1


@pytest.mark.parametrize(
    ("document", "status"),
    [
        ({"text": ""}, 400),
        ({"text": QUERY, "id": ""}, 400),
        ({"text": QUERY, "id": 5}, 400),
        ({"text": QUERY, "metadata": {"a": {"b": 1}}}, 400),
        ({"text": QUERY, "metadata": {"a": [1]}}, 400),
        ({"text": "?!"}, 422),
        ({"text": QUERY, "more": 1}, 400),
    ],
)
def test_bad_documents(own_index: Path, document: Any, status: int) -> None:
    with open_client(own_index, writer_token="writer") as client:
        post(client, "/api/documents", {"documents": [document]}, status, headers=WRITER)
        assert stored(client) == DOCUMENTS


@pytest.mark.parametrize(
    ("documents", "text"),
    [
        ([{"text": QUERY}, {"text": "?!"}], "documents.1.text: The text has no words. Nothing was added."),
        ([{"text": QUERY, "id": "computing-01"}], "documents.0.id: 'computing-01' is stored already."),
        ([{"text": QUERY, "id": "x"}] * 2, "documents.1.id: 'x' comes twice in this request."),
    ],
)
def test_refusals_speak_of_the_request(own_index: Path, documents: Any, text: str) -> None:
    """No name of a Python option, and no folder of the service's machine."""
    with open_client(own_index, writer_token="writer") as client:
        error = post(client, "/api/documents", {"documents": documents}, 422, headers=WRITER)["error"]
        assert error.startswith(text)
        answers = [
            error,
            client.get("/api/documents/nobody").text,
            client.delete("/api/documents/nobody", headers=WRITER).text,
            client.get("/api/documents", params={"after": "nobody"}).text,
            client.post("/api/similar", json={"like": {"id": "nobody"}}).text,
            client.post("/api/explain", json={"a": {"id": "nobody"}, "b": {"text": QUERY}}).text,
        ]
        assert not any(str(own_index) in answer or "on_empty" in answer for answer in answers)
        assert all("There is no document 'nobody'." in answer for answer in answers[1:])


def test_another_writer_is_named(own_index: Path) -> None:
    """While another process has the writer's lock, writing is a 503 that says who; reading goes on."""
    with wordferry.Index.open(own_index) as other, open_client(own_index, writer_token="writer") as client:
        other.add([{"id": "theirs", "text": QUERY}])
        body = {"documents": [{"id": "ours", "text": QUERY}]}
        assert "is being written by process" in post(client, "/api/documents", body, 503, headers=WRITER)["error"]
        assert client.get("/api/documents/theirs").status_code == 200
        hits = post(client, "/api/search", {"texts": [QUERY], "k": 1})["results"][0]["hits"]
        assert hits[0]["id"] == "theirs"

"""The service: bad input, bodies and addresses, and what every answer says to a browser."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.conftest import QUERY, post


def nested(depth: int) -> Any:
    """A filter in a filter in a filter."""
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


BAD: list[tuple[str, Any, int, str]] = [
    ("/api/search", {"texts": [QUERY], "k": 10**30}, 400, "k: "),
    ("/api/search", {"texts": [QUERY], "k": 1001}, 400, "less than or equal to 1000"),
    ("/api/search", {"texts": [QUERY], "k": 0}, 400, "k: "),
    ("/api/search", {"texts": [QUERY], "k": "5"}, 400, "k: "),
    ("/api/search", {"texts": [QUERY], "k": 5.5}, 400, "k: "),
    ("/api/search", {"texts": [QUERY], "k": True}, 400, "k: "),
    ("/api/search", {"texts": [""]}, 400, "texts.0: "),
    ("/api/search", {"texts": []}, 400, "texts: "),
    ("/api/search", {"texts": QUERY}, 400, "texts: "),
    ("/api/search", {"texts": [QUERY] * 65}, 400, "64"),
    ("/api/search", {"texts": ["x" * 100_001]}, 400, "100000"),
    ("/api/search", {"texts": [QUERY], "distance": "nearness"}, 400, "rel-rwmd"),
    ("/api/search", {"texts": [QUERY], "hallo": 1}, 400, "hallo"),
    (
        "/api/search",
        {"texts": ["xyzzyq ?!"], "distance": "wmd", "unknown": "drop"},
        422,
        "The query has no known word: this index has no vector for xyzzyq",
    ),
    ("/api/search", {"texts": ["?!", "of the"], "distance": "wmd"}, 422, "The query has no words."),
    ("/api/similar", {"like": {"text": QUERY}, "weights": "heavy"}, 400, "weights"),
    ("/api/search", {"texts": [QUERY], "weights": "idf"}, 422, "weights: Words are weighed where texts are compared"),
    ("/api/explain", {"a": {"text": QUERY}, "b": {"id": "computing-01"}, "plain": True}, 400, "plain"),
    (
        "/api/explain",
        {"a": {"text": QUERY}, "b": {"text": QUERY}, "weights": "idf"},
        422,
        "Two texts have no frequencies",
    ),
    ("/api/search", {"texts": ["?!"]}, 422, "The query has no words."),
    ("/api/search", {"texts": [QUERY], "offset": -1}, 400, "offset: "),
    ("/api/similar", {"like": {"id": "nobody"}}, 404, "nobody"),
    ("/api/similar", {"like": {"text": "of the"}}, 422, "The query has only words that are left out"),
    ("/api/similar", {"like": {}}, 400, "like"),
    ("/api/similar", {"like": {"text": QUERY}, "distance": "nearness"}, 400, "rel-rwmd"),
    ("/api/search", {"texts": [QUERY], "filter": {"year": {"about": 3}}}, 422, "unknown operator"),
    ("/api/search", {"texts": [QUERY], "filter": nested(500)}, 400, "filter: a: "),
    ("/api/search", {"texts": [QUERY], "filter": {"a": {"in": [[1]]}}}, 400, "got a list"),
    ("/api/search", {"texts": [QUERY], "filter": {"a" * 2_000_000: 1}}, 400, "256 are allowed"),
    ("/api/search", {"texts": [QUERY], "filter": {"a": "b" * 5_000}}, 400, "4096 characters"),
    ("/api/search", {"texts": [QUERY], "filter": {str(i): i for i in range(1001)}}, 400, "1001 conditions"),
    ("/api/search", {"texts": [QUERY], "filter": {"a": {"in": list(range(1001))}}}, 400, "1001 conditions"),
    ("/api/search", [], 400, "body: "),
    ("/api/search", None, 415, "application/json"),
    ("/api/search", "text", 400, "body: "),
    ("/api/distance", {"a": QUERY}, 400, "b: "),
    ("/api/distance", {"a": QUERY, "b": "the of"}, 422, "b: The second text has only words that are left out"),
    ("/api/distance", {"a": QUERY, "b": QUERY, "distances": ["tfidf-l1"]}, 400, "distances"),
    ("/api/explain", {"a": {"text": QUERY}, "b": {"id": "nobody"}}, 404, "nobody"),
    ("/api/explain", {"a": {"text": QUERY}, "b": {}}, 400, "b"),
    ("/api/explain", {"a": {"text": QUERY}, "b": {"text": QUERY}, "distance": "cosine"}, 400, "distance"),
]


@pytest.mark.parametrize(
    ("path", "body", "status", "text"), BAD, ids=[f"{p}-{s}-{i}" for i, (p, _, s, _) in enumerate(BAD)]
)
def test_bad_input(reader: Any, path: str, body: Any, status: int, text: str) -> None:
    error = post(reader, path, body, status)
    assert set(error) == {"error"}
    assert text in error["error"]
    assert "Traceback" not in error["error"]
    assert reader.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b'{"texts": ["\xff\xfe"]}', "application/json", 400),
        (b'{"texts": ["\\ud800"]}', "application/json", 400),
        (b'{"texts": [NaN]}', "application/json", 400),
        (b"[" * 200_000, "application/json", 400),
        (b'{"texts": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", "application/json", 400),
        (b'{"texts": ["a"], "filter": ' + b'{"a":' * 1000 + b"1" + b"}" * 1001, "application/json", 400),
        (b'{"texts": ["a"]', "application/json", 400),
        (b"", "application/json", 400),
        (b"texts=a", "application/x-www-form-urlencoded", 415),
        (b'{"texts": ["software"]}', "text/plain", 415),
        (b" " * (5 << 20), "application/json", 413),
        (b'{"texts": ["' + b"a" * (10 << 20) + b'"]}', "application/json", 413),
    ],
)
def test_bad_bodies(reader: Any, content: bytes, kind: str, status: int) -> None:
    answer = reader.post("/api/search", content=content, headers={"content-type": kind})
    assert answer.status_code == status, answer.text[:500]
    assert list(answer.json()) == ["error"]
    chunks = (content[i : i + 65536] for i in range(0, len(content), 65536))  # without a length told beforehand
    assert reader.post("/api/search", content=chunks, headers={"content-type": kind}).status_code == status


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/documents/nobody", 404),
        ("GET", "/api/documents?limit=0", 400),
        ("GET", "/api/documents?limit=x", 400),
        ("GET", "/api/documents?after=nobody", 404),
        ("GET", "/api/related", 400),
        ("GET", "/api/nothing", 404),
        ("GET", "/static/../settings.py", 404),
        ("GET", "/static/%2e%2e/settings.py", 404),
        ("GET", "/api/search", 405),
        ("PUT", "/api/documents", 405),
        ("DELETE", "/api/stats", 405),
    ],
)
def test_bad_addresses(reader: Any, method: str, path: str, status: int) -> None:
    answer = reader.request(method, path)
    assert answer.status_code == status
    assert list(answer.json()) == ["error"]


def test_headers(reader: Any) -> None:
    for answer in (reader.get("/"), reader.get("/api/stats"), reader.get("/nothing"), reader.get("/static/main.js")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "server" not in answer.headers


def test_other_hosts_are_refused(reader: Any) -> None:
    """A page elsewhere whose name was made to point at this machine gets nothing."""
    assert reader.get("/api/stats", headers={"host": "evil.example"}).status_code == 400
    assert reader.get("/api/stats", headers={"host": "localhost:8080"}).status_code == 200
    assert reader.get("/api/stats", headers={"host": "[::1]:8080"}).status_code == 200
    for host in ("[::1]evil.com", "[::1]:80.evil.com", "evil.com@127.0.0.1", "127.0.0.1:x", "", "127.0.0.1, evil.com"):
        assert reader.get("/api/stats", headers={"host": host}).status_code == 400, host
    twice = [("host", "127.0.0.1"), ("host", "evil.com")]
    assert reader.get("/api/stats", headers=twice).status_code == 400

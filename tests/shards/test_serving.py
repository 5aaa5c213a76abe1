"""Shards behind a real Ray Serve: the same answers over the same HTTP, also while a shard is down or reloaded."""

from __future__ import annotations

import os
import shutil
import signal
import time
from importlib.util import find_spec

import pytest

from tests.shards.test_sharded import QUERIES, shown
from wordferry.errors import InputError, StorageError

if find_spec("ray") is None or find_spec("grpc_reflection") is None:
    pytest.skip("Ray Serve is not installed (pip install 'wordferry[cluster]')", allow_module_level=True)
pytest.importorskip("fastapi", reason="FastAPI is not installed (pip install 'wordferry[serve]')")


@pytest.fixture(scope="module")
def place(folder, tmp_path_factory):
    """A copy of the shards that may be moved about."""
    path = tmp_path_factory.mktemp("served") / "shards"
    shutil.copytree(folder, path)
    return path


@pytest.fixture(scope="module")
def serving(place):
    from wordferry.engines.on_ray import Ray
    from wordferry.shards.serving import Serving

    ray = Ray(workers=2, store=200 << 20)
    made = Serving(str(place), seconds=5, ray=ray)
    yield made
    made.close()
    ray.close()


def test_the_answers_are_those_of_the_undivided_index(serving, whole):
    index = serving.index
    for options in ({}, {"lift": 0}):
        a, b = whole.search(QUERIES, 8, **options), index.search(QUERIES, 8, **options)
        assert [shown(hits) for hits in a] == [shown(hits) for hits in b]
    assert [shown(hits) for hits in whole.similar(QUERIES, 8)] == [shown(hits) for hits in index.similar(QUERIES, 8)]
    name = whole.ids()[60]
    assert shown(whole.similar(id=name, k=20)) == shown(index.similar(id=name, k=20))
    assert whole.search("bread")[0].explain().to_json() == index.search("bread")[0].explain().to_json()
    with pytest.raises(InputError, match="no document has a field"):
        index.search("bread", filter={"never": 1})


def test_the_same_http_and_page(serving, whole):
    from fastapi.testclient import TestClient

    from wordferry.web.app import create_app
    from wordferry.web.settings import Settings

    asked = [
        ("post", "/api/search", {"texts": ["bread", "planets"], "k": 3, "explain": True}),
        ("post", "/api/similar", {"like": {"text": "heating costs"}, "k": 3}),
        ("post", "/api/similar", {"like": {"id": whole.ids()[70]}, "k": 3}),
        ("post", "/api/explain", {"a": {"text": "bread"}, "b": {"id": whole.ids()[3]}}),
        ("get", "/api/documents?limit=70", None),
        ("get", f"/api/documents/{whole.ids()[100]}", None),
        ("get", "/api/fields", None),
        ("get", "/api/related?word=bread", None),
        ("get", "/api/stats", None),
        ("get", "/", None),
    ]
    settings = Settings(token="reader")
    answers = []
    for index in (whole, serving.index):
        with TestClient(create_app(index, settings)) as client:
            assert client.get("/api/stats").status_code == 401
            headers = {"authorization": "Bearer reader"}
            for method, path, body in asked:
                options = {} if body is None else {"json": body}
                answer = getattr(client, method)(path, headers=headers, **options)
                assert answer.status_code == 200, (path, answer.text)
                answers.append(answer.content)
    assert answers[: len(asked)] == answers[len(asked) :]


def test_a_shard_that_is_down_is_named_or_an_error_and_comes_back(serving, place, whole):
    from fastapi.testclient import TestClient

    from wordferry.shards.serving import Served
    from wordferry.web.app import create_app

    record = serving.index.common.manifest.shards[1]
    away = place / "away"
    os.rename(place / "shards" / record.name, away)
    os.kill(serving.process(1), signal.SIGKILL)
    try:
        hits = serving.index.search("bread", 200)
        assert hits.missing == (record.name,)
        kept = [hit.id for hit in hits]
        order = whole.ids()
        lost = set(order[record.first : record.first + record.documents])
        assert kept
        assert not lost & set(kept)
        with TestClient(create_app(serving.index), base_url="http://127.0.0.1") as client:
            answer = client.post("/api/search", json={"texts": ["bread"]}).json()
            assert answer["results"][0]["missing"] == [record.name]
        strict = Served(serving.index.common, serving._handles, "error", 5)
        with pytest.raises(StorageError, match=record.name):
            strict.every("facts")
    finally:
        os.rename(away, place / "shards" / record.name)
    limit = time.monotonic() + 120
    while serving.index.search("bread").missing:
        assert time.monotonic() < limit, "the shard did not come back"
        time.sleep(1)
    assert shown(serving.index.search("bread", 50)) == shown(whole.search("bread", 50))


def test_a_rolling_reload_answers_all_the_while(serving, source, whole, tmp_path):
    import threading

    from wordferry.shards import build

    build(source, tmp_path / "new", 3)
    expected, wrong, asked = shown(whole.search("bread")), [], []
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            hits = serving.index.search("bread")
            asked.append(1)
            if shown(hits) != expected or hits.missing:
                wrong.append(hits)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        serving.reload(str(tmp_path / "new"))
    finally:
        stop.set()
        thread.join()
    assert asked
    assert not wrong
    assert serving.index.path == str(tmp_path / "new")
    build(source, tmp_path / "two", 2)
    with pytest.raises(InputError, match="2 shards"):
        serving.reload(str(tmp_path / "two"))

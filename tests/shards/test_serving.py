"""Shards in processes of a real Ray cluster: the same answers over the same HTTP, also while a shard is down."""

from __future__ import annotations

import os
import shutil
import signal
import time
from importlib.util import find_spec

import pytest

from tests.shards.test_sharded import QUERIES, shown
from wordferry.errors import InputError, StorageError

if find_spec("ray") is None:
    pytest.skip("Ray is not installed (pip install 'wordferry[cluster]')", allow_module_level=True)
pytest.importorskip("fastapi", reason="FastAPI is not installed (pip install 'wordferry[serve]')")
PATIENCE = 120
"""Seconds for a shard to answer. A shard that is gone is noticed at once; one on a busy machine answers late."""


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
    made = Serving(str(place), seconds=PATIENCE, ray=ray)
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
    from wordferry.web.settings import Limits, Settings

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
    settings = Settings(token="reader", limits=Limits(seconds=PATIENCE))
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

    from wordferry.shards.serving import RayBackend
    from wordferry.web.app import create_app
    from wordferry.web.settings import Limits, Settings

    record = serving.index.backend.common.manifest.shards[1]
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
        settings = Settings(limits=Limits(seconds=PATIENCE))
        with TestClient(create_app(serving.index, settings), base_url="http://127.0.0.1") as client:
            answer = client.post("/api/search", json={"texts": ["bread"]}).json()
            assert answer["results"][0]["missing"] == [record.name]
        strict = RayBackend(serving.index.backend.common, serving._replicas, "error", PATIENCE)
        with pytest.raises(StorageError, match=record.name):
            strict.every("facts")
    finally:
        os.rename(away, place / "shards" / record.name)
    limit = time.monotonic() + 120
    while serving.index.search("bread").missing:
        assert time.monotonic() < limit, "the shard did not come back"
        time.sleep(1)
    assert shown(serving.index.search("bread", 50)) == shown(whole.search("bread", 50))


def test_nobody_listens_on_other_addresses_than_loopback(serving):
    psutil = pytest.importorskip("psutil")
    mine = psutil.Process()
    replicas = {serving.process(number) for number in range(3)}
    processes = [mine, *mine.children(recursive=True)]
    assert replicas <= {process.pid for process in processes}
    listening = [
        connection.laddr.ip
        for process in processes
        for connection in process.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert listening
    assert {address.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}


def test_another_replica_answers_for_one_that_has_died(serving, place, whole):
    from wordferry.shards.serving import Serving

    two = Serving(str(place), replicas=2, seconds=PATIENCE, on_missing="error", ray=serving._engine)
    try:
        os.kill(two.process(0), signal.SIGKILL)
        for _ in range(4):
            assert shown(two.index.search("bread", 50)) == shown(whole.search("bread", 50))
    finally:
        two.close()


def test_a_shard_that_was_late_has_its_full_time_again(serving, whole):
    """One late answer, as on a busy machine, must not make every later one late by the short time for dead shards."""
    from wordferry.shards.serving import RayBackend

    common, replicas = serving.index.backend.common, serving._replicas
    backend = RayBackend(common, replicas, "answer", PATIENCE)
    number = 1
    os.kill(process := serving.process(number), signal.SIGSTOP)
    try:
        backend._seconds = 0.2
        assert number not in backend.ask("facts", dict.fromkeys(range(3), ()))
        assert backend._is_down(number, 0)
    finally:
        os.kill(process, signal.SIGCONT)
    backend._seconds = PATIENCE
    limit = time.monotonic() + PATIENCE
    while backend._is_down(number, 0):
        assert time.monotonic() < limit, "the late answer did not come"
        time.sleep(0.05)
    assert sorted(backend.ask("facts", dict.fromkeys(range(3), ()))) == [0, 1, 2]

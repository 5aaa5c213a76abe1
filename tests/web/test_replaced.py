"""Another index in the place of the one that is served: the service opens it and goes on."""

from __future__ import annotations

import gc
import json
import logging
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import wordferry
from tests.web.conftest import open_client, serving, stored

WRITER = {"authorization": "Bearer writer"}
WORDS = ["a", "old", "on", "the", "river", "rivers", "boat", "boats"]
SMALL = wordferry.Embeddings(WORDS, np.random.default_rng(0).normal(size=(len(WORDS), 4)))


def replace(path: Path, mark: str, **options: Any) -> None:
    """Put an index whose ids and texts all bear a mark in the place of another one."""
    texts = ["a river", "a boat on the river", "old boats"]
    beside = path.with_name(f"{path.name}.{mark}")
    with wordferry.Index.create(beside, **{"embeddings": SMALL, "related": 2, **options}) as index:
        index.add([{"id": f"{mark}-{i}", "text": f"{text} {mark}"} for i, text in enumerate(texts)])
    old = path.with_name(f"{path.name}.old")
    os.rename(path, old)
    os.rename(beside, path)
    shutil.rmtree(old)


def test_every_route_answers_from_the_new_index(own_index: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Each request is the first one after a change, so each finds out by itself."""
    asked: list[tuple[str, str, Any]] = [
        ("POST", "/api/search", {"texts": ["river", "boat"]}),
        ("POST", "/api/search", {"texts": ["river"], "distance": "wmd"}),
        ("POST", "/api/similar", {"like": {"text": "a river"}}),
        ("POST", "/api/similar", {"like": {"id": "{mark}-1"}}),
        ("POST", "/api/explain", {"a": {"text": "a river"}, "b": {"id": "{mark}-1"}}),
        ("POST", "/api/documents", {"documents": [{"id": "{mark}-more", "text": "rivers {mark}"}]}),
        ("DELETE", "/api/documents/{mark}-2", None),
        ("GET", "/api/documents", None),
        ("GET", "/api/documents/{mark}-1", None),
        ("GET", "/api/stats", None),
        ("GET", "/api/fields", None),
        ("GET", "/api/related?word=river", None),
    ]
    with (
        open_client(own_index, writer_token="writer") as client,
        caplog.at_level(logging.INFO, "wordferry.access"),
    ):
        for number, (method, path, body) in enumerate(asked):
            mark = f"mark{number}"
            replace(own_index, mark)
            content = None if body is None else json.dumps(body).replace("{mark}", mark)
            headers = {"content-type": "application/json", **WRITER}
            answer = client.request(method, path.replace("{mark}", mark), content=content, headers=headers)
            assert answer.status_code in (200, 201), (path, answer.text)
            assert ("mark" in answer.text) == (mark in answer.text), (path, answer.text)
            if path == "/api/stats":
                assert stored(client) == 3
    assert caplog.text.count("Open it again. It was.") == len(asked)


def test_what_is_read_of_the_old_index_does_not_hold_up_the_new_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Counting what is stored may build related words that a removed index no longer has; it ends with that index."""
    words = [f"word{i}" for i in range(20_000)]
    many = wordferry.Embeddings(words, np.random.default_rng(0).normal(size=(len(words), 100)))
    own_index = tmp_path / "index"
    with wordferry.Index.create(own_index, embeddings=many) as index:
        index.add([{"id": "all", "text": " ".join(words)}])
    with open_client(own_index) as client:
        shutil.rmtree(own_index / "graph")
        client.get("/api/stats")
        for mark in ("first", "second", "third", "fourth"):
            replace(own_index, mark)
            assert (
                client.post("/api/similar", json={"like": {"text": "a river"}}).json()["hits"][0]["id"] == f"{mark}-0"
            )
        assert stored(client) == 3
    gc.collect()
    assert "never retrieved" not in caplog.text


def test_an_index_made_in_another_way(own_index: Path) -> None:
    """Whatever belongs to the old index is made again: distance, tokenizer, vectors, counts."""
    emb = wordferry.Embeddings(["river", "boat", "boats"], [[1.0, 0.0], [0.0, 1.0], [0.1, 1.0]])
    with open_client(own_index) as client:
        before = client.get("/api/stats").json()
        replace(own_index, "new", embeddings=emb, distance="wcd", related=1)
        answer = client.post("/api/similar", json={"like": {"text": "a boat"}}).json()
        assert answer["distance"] == "wcd"
        assert answer["hits"][0]["id"] == "new-1"
        after = client.get("/api/stats").json()
        assert (after["distance"], after["documents"], after["words"]) == ("wcd", 3, 3)
        assert before["documents"] > 3


def test_an_index_that_went_away(own_index: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is there: every request says so, the reason is in the log, and one that is put there is found."""
    with open_client(own_index) as client, caplog.at_level(logging.INFO, "wordferry.access"):
        os.rename(own_index, own_index.with_name("elsewhere"))
        for _ in range(2):
            answer = client.post("/api/search", json={"texts": ["river"]})
            assert answer.status_code == 503
            assert "was moved or removed" in answer.json()["error"]
            assert str(own_index) not in answer.text
        assert "There is no index at" in caplog.text
        assert client.get("/healthz").status_code == 200
        assert client.get("/api/stats").status_code == 200
        os.rename(own_index.with_name("elsewhere"), own_index)
        assert client.post("/api/search", json={"texts": ["river"]}).status_code == 200


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="/proc tells what is open")
def test_replaced_again_and_again_under_load(tmp_path: Path) -> None:
    """Overwritten while clients ask: each answer is of one index, none is an error, and no file stays open."""
    place = tmp_path / "index"
    wordferry.Index.create(place, embeddings=SMALL).close()
    bad: list[Any] = []
    marks: set[str] = set()
    stop = threading.Event()

    def ask(address: str, body: dict[str, Any]) -> None:
        with httpx.Client(base_url=address, timeout=60) as client:
            while not stop.is_set():
                answer = client.post("/api/search", json=body)
                if answer.status_code != 200:
                    bad.append(answer.text)
                    return
                hits = [hit for result in answer.json()["results"] for hit in result["hits"]]
                if any(hit["id"].split("-")[0] != hit["text"].split()[-1] for hit in hits):
                    bad.append(hits)
                marks.update(hit["id"].split("-")[0] for hit in hits)

    with serving(place, "--quiet") as (address, process):
        bodies = [{"texts": ["river"]}, {"texts": ["boat"], "distance": "wmd"}, {"texts": ["river"], "distance": "wcd"}]
        threads = [threading.Thread(target=ask, args=(address, body)) for body in bodies]
        for thread in threads:
            thread.start()
        opened = []
        for number in range(8):
            with wordferry.Index.create(place, embeddings=SMALL, overwrite=True) as index:
                index.add([{"id": f"m{number}-{i}", "text": f"a boat on the river m{number}"} for i in range(4)])
            wait = threading.Event()
            for _ in range(600):
                if f"m{number}" in marks or bad:
                    break
                wait.wait(0.05)
            opened.append(len(os.listdir(f"/proc/{process.pid}/fd")))
        for _ in range(400):  # what an error of a replaced index holds goes when Python next looks for circles
            if opened[-1] <= max(opened[:4]) + 8:
                break
            wait.wait(0.05)
            opened.append(len(os.listdir(f"/proc/{process.pid}/fd")))
        stop.set()
        for thread in threads:
            thread.join()
    assert bad == []
    assert marks == {f"m{number}" for number in range(8)}
    assert opened[-1] <= max(opened[:4]) + 8, opened  # an index may be closing while its successor is open

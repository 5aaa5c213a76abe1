"""The service as a process: it starts, stops gracefully, refuses to be careless, and loses nothing when killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import wordferry
from tests.web.conftest import DOCUMENTS, PACKAGE, serving, stored

WRITER = {"authorization": "Bearer writer"}
SOURCE = {"PYTHONPATH": str(PACKAGE)}


def test_graceful_stop(built_index: Path) -> None:
    """SIGTERM: the service ends with 0, and its log is JSON lines."""
    log = built_index.parent / f"{built_index.name}.log"
    log.unlink(missing_ok=True)
    with serving(built_index) as (address, process):
        with httpx.Client(base_url=address) as client:
            assert stored(client) == DOCUMENTS
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) in {0, -signal.SIGTERM, 143}
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert "/api/stats" in [line.get("route") for line in lines]


def test_a_running_request_is_answered_before_the_end(built_index: Path) -> None:
    texts = [article.text for article in wordferry.sample().articles[:3]]
    answers: list[int] = []
    with serving(built_index, "--quiet") as (address, process):

        def ask() -> None:
            body = {"texts": texts, "k": 50, "distance": "wmd"}
            answers.append(httpx.post(f"{address}/api/search", json=body, timeout=60).status_code)

        thread = threading.Thread(target=ask)
        thread.start()
        metrics = ""
        while "batch_texts_count 0" in (metrics or "batch_texts_count 0"):
            metrics = httpx.get(f"{address}/metrics", timeout=60).text  # until a search has begun
        process.send_signal(signal.SIGTERM)
        thread.join()
        process.wait(30)
    assert answers == [200]


def test_off_loopback_without_token() -> None:
    command = [sys.executable, "-m", "wordferry", "serve", "nowhere", "--host", "0.0.0.0"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WORDFERRY_")} | SOURCE
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("wordferry: Refusing to listen on 0.0.0.0 without a token")
    assert "Traceback" not in done.stderr


def test_token_from_the_environment(built_index: Path) -> None:
    with serving(built_index, "--quiet", WORDFERRY_TOKEN="secret") as (address, _):
        assert httpx.get(f"{address}/api/stats").status_code == 401
        assert httpx.get(f"{address}/api/stats", headers={"authorization": "Bearer secret"}).status_code == 200


def _killed_while_adding(path: Path, rounds: int, seed: int) -> None:
    """Add documents from several clients, kill the server at a random moment, and look for what was acknowledged."""
    moments = random.Random(seed)
    acknowledged: set[str] = set()
    deleted: set[str] = set()
    for number in range(rounds):
        with serving(path, "--quiet", WORDFERRY_WRITER_TOKEN="writer") as (address, process):
            stop = threading.Event()
            threads = [
                threading.Thread(target=_write, args=(address, f"{number}-{i}", acknowledged, deleted, stop))
                for i in range(3)
            ]
            enough, limit = len(acknowledged) + 2, time.monotonic() + 60
            for thread in threads:
                thread.start()
            while len(acknowledged) < enough and time.monotonic() < limit:
                time.sleep(0.01)
            stop.wait(moments.uniform(0, 0.5))
            process.kill()
            process.wait()
            stop.set()
            for thread in threads:
                thread.join()
        with wordferry.Index.open(path) as index:
            stored = {document.id for document in index}
            lost = acknowledged - deleted - stored
            assert not lost, f"round {number}: {len(lost)} acknowledged documents are gone"
    assert len(acknowledged) > rounds, "too few documents were added for this to mean anything"
    with serving(path, "--quiet") as (address, _):
        name = sorted(acknowledged - deleted)[0]
        assert httpx.get(f"{address}/api/documents/{name}").status_code == 200


def _write(address: str, prefix: str, acknowledged: set[str], deleted: set[str], stop: threading.Event) -> None:
    with httpx.Client(headers=WRITER, timeout=30) as client:
        number = 0
        while not stop.is_set():
            name = f"{prefix}-{number}"
            body = {"documents": [{"id": name, "text": f"sailor number {number} ferries words"}]}
            try:
                if client.post(f"{address}/api/documents", json=body).status_code == 201:
                    acknowledged.add(name)
                if number % 5 == 4:
                    deleted.add(name)  # before asking: once asked for, both outcomes are right
                    client.delete(f"{address}/api/documents/{name}")
            except httpx.TransportError:
                return
            number += 1


@pytest.mark.disk
def test_kill_loses_nothing(own_index: Path) -> None:
    _killed_while_adding(own_index, rounds=3, seed=1)


@pytest.mark.disk
@pytest.mark.slow
def test_kill_loses_nothing_many_times(own_index: Path) -> None:
    _killed_while_adding(own_index, rounds=40, seed=2)


def test_concurrent_searches_are_joined(built_index: Path) -> None:
    """Under load answers stay right, and some calls answer several searches."""
    queries = [f"{a} {b}" for a in ("football", "doctor", "music", "software") for b in ("match", "money", "river")]
    with wordferry.Index.open(built_index) as index:
        expected = {query: [hit.id for hit in index.search(query, k=3)] for query in queries}
    with serving(built_index, "--quiet") as (address, _):
        wrong: list[Any] = []
        work: list[Callable[[], None]] = []

        def ask(offset: int) -> None:
            with httpx.Client(timeout=30) as client:
                for i in range(24):
                    query = queries[(i + offset) % len(queries)]
                    answer = client.post(f"{address}/api/search", json={"texts": [query], "k": 3}).json()
                    if [hit["id"] for hit in answer["results"][0]["hits"]] != expected[query]:
                        wrong.append((query, answer))

        work = [lambda i=i: ask(i) for i in range(8)]
        threads = [threading.Thread(target=one) for one in work]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        metrics = dict(
            line.rsplit(" ", 1)
            for line in httpx.get(f"{address}/metrics").text.splitlines()
            if not line.startswith("#")
        )
    assert float(metrics["wordferry_search_batch_texts_sum"]) == 8 * 24
    assert float(metrics["wordferry_search_batch_texts_count"]) < 8 * 24

"""Answers that are large, and clients that do not read them: the service's memory stays bounded."""

from __future__ import annotations

import contextlib
import json
import random
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

import wordferry
from tests.web.conftest import open_client, post, serving
from wordferry.web.settings import Limits

DOCUMENTS, CHARACTERS = 500, 12_000
ALL = {"texts": ["river"], "k": 1000}
"""Asks for all documents: about 6 MB."""
MIB = 1 << 20
needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system has no /proc")


@pytest.fixture(scope="module")
def long_texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of long documents, all of which a word finds."""
    rng = random.Random(0)
    words = " ".join(wordferry.sample().texts).split()
    path = tmp_path_factory.mktemp("long") / "index"
    with wordferry.Index.create(path) as index:
        texts = (f"river {' '.join(rng.choices(words, k=CHARACTERS // 6))}"[:CHARACTERS] for _ in range(DOCUMENTS))
        index.add([{"id": f"d{number}", "text": text} for number, text in enumerate(texts)])
    return path


def most_memory(pid: int) -> int:
    """The most that a process has had in memory, in bytes."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def sockets(pid: int) -> int:
    """Sockets that a process has open."""
    found = 0
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed since it was listed
            found += "socket" in str(link.readlink())
    return found


def reaches(state: Callable[[], bool], seconds: float = 120) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if state():
            return True
        time.sleep(0.05)
    return False


@needs_proc
def test_a_small_request_cannot_ask_for_a_gigabyte(long_texts: Path) -> None:
    """64 texts that find everything: 413, and never more than a few of their results in memory."""
    with serving(long_texts, "--quiet") as (address, process):
        assert httpx.post(f"{address}/api/search", json=ALL, timeout=60).status_code == 200
        before = most_memory(process.pid)
        for body in (ALL | {"texts": ["river"] * 64}, ALL | {"texts": ["river"] * 4}):
            answer = httpx.post(f"{address}/api/search", json=body, timeout=60)
            assert answer.status_code == 413, answer.text[:300]
            assert "Ask for fewer hits" in answer.json()["error"]
        assert most_memory(process.pid) - before < 200 * MIB


@contextmanager
def deaf(address: str, count: int, body: Any) -> Iterator[list[socket.socket]]:
    """Clients that ask, and do not read the answer."""
    place, content = urlsplit(address), json.dumps(body).encode()
    head = "POST /api/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(content)}\r\n\r\n"
    with ExitStack() as stack:
        made = []
        for _ in range(count):
            one = stack.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.connect((place.hostname, place.port))
            one.sendall(head.encode() + content)
            made.append(one)
        yield made


@needs_proc
def test_clients_that_do_not_read_lose_their_connections(long_texts: Path) -> None:
    """Their answers are held for a time, together at most as many as are allowed; others are answered meanwhile."""
    limits = {"answer_seconds": 3.0, "answer_rate": MIB, "held_bytes": 14 * MIB, "head_seconds": 3.0}
    with serving(long_texts, limits=limits) as (address, process):
        assert httpx.post(f"{address}/api/search", json=ALL | {"k": 3}, timeout=60).status_code == 200
        assert reaches(lambda: sockets(process.pid) <= 3)
        quiet = sockets(process.pid)
        with deaf(address, 12, ALL) as clients:
            found: list[int] = []
            assert reaches(lambda: found.append(large(address)) or 503 in found)
            assert httpx.post(f"{address}/api/search", json=ALL | {"k": 1}, timeout=60).status_code == 200
            assert most_memory(process.pid) < 500 * MIB
            assert reaches(lambda: sockets(process.pid) <= quiet)
            assert large(address) == 200
            assert any(read_all(client) < DOCUMENTS * CHARACTERS for client in clients)


def large(address: str) -> int:
    return httpx.post(f"{address}/api/search", json=ALL, timeout=60).status_code


def read_all(client: socket.socket) -> int:
    """Bytes that come until the other side has closed."""
    size = 0
    client.settimeout(30)
    try:
        while data := client.recv(1 << 16):
            size += len(data)
    except ConnectionError:
        pass
    return size


def test_a_slow_reader_gets_all_of_it(long_texts: Path) -> None:
    """One that takes its time, but takes, is not cut off."""
    with (
        serving(long_texts, limits={"head_seconds": 1.0}) as (address, _),
        deaf(address, 1, ALL | {"k": 300}) as (one,),
    ):
        data = b""
        for _ in range(40):
            time.sleep(0.1)
            data += one.recv(1 << 16)
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(next(line.split(b":")[1] for line in head.split(b"\r\n") if line.startswith(b"content-length")))
        assert length > 2 * MIB
        one.settimeout(30)
        while len(body) < length:
            body += one.recv(1 << 20)
        assert len(json.loads(body)["results"][0]["hits"]) == 300


def test_answers_have_a_size(long_texts: Path) -> None:
    """Of every route: refused where it would be larger; pages of documents are cut short, and go on."""
    with open_client(long_texts, limits=Limits(answer_bytes=100_000)) as client:
        for path, body in (
            ("/api/search", ALL | {"k": 10}),
            ("/api/search", {"texts": ["river"] * 10, "k": 1}),
            ("/api/similar", {"like": {"id": "d1"}, "k": 10}),
            ("/api/explain", {"a": {"id": "d1"}, "b": {"id": "d2"}}),
        ):
            assert "more than the 100000 bytes" in post(client, path, body, 413)["error"]
        post(client, "/api/search", ALL | {"k": 3})
        ids, after = [], None
        while len(ids) < 9:
            page = client.get("/api/documents", params={"limit": 9} | ({"after": after} if after else {})).json()
            assert 1 <= len(page["documents"]) <= 5
            ids += [document["id"] for document in page["documents"]]
            after = page["next"]
        assert ids[:9] == [f"d{number}" for number in range(9)]
    with open_client(long_texts, limits=Limits(answer_bytes=10_000)) as client:
        assert client.get("/api/documents/d1").status_code == 413
        assert client.get("/api/stats").status_code == 200

"""Heavy requests beside light ones: nobody waits for what is not his, and work ends with its request."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest

import wordferry
from tests.web.conftest import open_client, serving, submit
from tests.web.test_process import _write
from wordferry.base.runtime import check_cancelled
from wordferry.errors import Cancelled, InputError
from wordferry.web import service
from wordferry.web.engine import SearchQuery, ServedIndex
from wordferry.web.settings import Limits
from wordferry.web.work import WorkEstimate, of_explanation, of_pair, of_search
from wordferry.web.workers import Batcher, Workers
from wordferry.words.related.whole import related_of

DOCUMENTS = 4_000
THOUSAND = 1_000, 500


@pytest.fixture(scope="module")
def large_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some thousand documents, mixed from the sample's sentences."""
    generator = random.Random(0)
    sentences = [s for text in wordferry.sample().texts for s in text.split(". ") if len(s) > 30]
    path = tmp_path_factory.mktemp("load") / "large"
    with wordferry.Index.create(path) as index:
        index.add([{"id": f"d{i}", "text": ". ".join(generator.sample(sentences, 5))} for i in range(DOCUMENTS)])
    return path


def long_text(seed: int, words: int = 11_500) -> str:
    """A text of so many different words, none of which is a stop word."""
    known = [word for word in wordferry.default_embeddings().vocabulary if word.isalpha() and 3 < len(word) < 8]
    return " ".join(random.Random(seed).sample(known, words))


def heaviest(seed: int = 0) -> dict[str, Any]:
    """About the most that a search of the large index may ask for: many seconds of work."""
    return {"texts": [long_text(seed + i, 8_000) for i in range(2)], "k": 10, "distance": "wmd"}


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")


def busy_share(pid: int, seconds: float) -> float:
    """The processor time that a process uses in a span, in cores."""
    before, start = processor_seconds(pid), time.monotonic()
    time.sleep(seconds)
    return (processor_seconds(pid) - before) / (time.monotonic() - start)


@contextmanager
def asking(address: str, path: str, bodies: Sequence[dict[str, Any]]) -> Iterator[list[int]]:
    """Clients that send the same request again and again, until they go; the statuses they got."""
    stop = threading.Event()
    statuses: list[int] = []
    clients = [HTTPConnection(urlsplit(address).netloc, timeout=120) for _ in bodies]

    def ask(client: HTTPConnection, body: bytes) -> None:
        while not stop.is_set():
            try:
                client.request("POST", path, body, {"content-type": "application/json"})
                answer = client.getresponse()
                answer.read()
                statuses.append(answer.status)
            except (OSError, HTTPException):
                return

    pairs = zip(clients, bodies, strict=True)
    threads = [threading.Thread(target=ask, args=(client, json.dumps(body).encode())) for client, body in pairs]
    for thread in threads:
        thread.start()
    try:
        yield statuses
    finally:
        stop.set()
        for client in clients:
            if (connection := client.sock) is not None:
                with suppress(OSError):  # the service has gone first
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()


@pytest.fixture(scope="module")
def usual(large_index: Path) -> Iterator[tuple[str, int]]:
    """A service as it is by default: its address and its process."""
    with serving(large_index, "--quiet") as (address, process):
        yield address, process.pid


@pytest.fixture(scope="module")
def impatient(large_index: Path) -> Iterator[tuple[str, int]]:
    """A service whose requests may take a second."""
    with serving(large_index, "--quiet", "--max-seconds", "1") as (address, process):
        yield address, process.pid


def _light_beside_heavy(address: str, seconds: float) -> list[float]:
    """The times of light searches while two of the heaviest run all the time; every one is answered."""
    times: list[float] = []
    bad: list[Any] = []
    texts = wordferry.sample().texts[:40]
    queries = [sentence for text in texts for sentence in text.split(". ") if len(sentence) > 30]
    with asking(address, "/api/search", [heaviest(i) for i in (0, 9)]):
        time.sleep(1)  # until they run
        until = time.monotonic() + seconds

        def ask(number: int) -> None:
            with httpx.Client(base_url=address, timeout=60) as client:
                i = number
                while time.monotonic() < until:
                    start = time.monotonic()
                    answer = client.post("/api/search", json={"texts": [queries[i % len(queries)]], "k": 10})
                    times.append(time.monotonic() - start)
                    if answer.status_code != 200 or not answer.json()["results"][0]["hits"]:
                        bad.append(answer.text)
                    i += 8

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert bad == []
    return times


def test_light_beside_heavy(usual: tuple[str, int]) -> None:
    times = _light_beside_heavy(usual[0], 3)
    assert len(times) > 8
    assert float(np.percentile(times, 99)) < 10  # half a minute when they had to wait for one another


@pytest.mark.slow
def test_light_beside_heavy_for_long(usual: tuple[str, int]) -> None:
    times = _light_beside_heavy(usual[0], 20)
    p99 = float(np.percentile(times, 99))
    print(f"{len(times)} light searches: median {1000 * np.median(times):.0f} ms, p99 {1000 * p99:.0f} ms, no error")
    assert p99 < 1


def test_counts_and_health_wait_for_nobody(usual: tuple[str, int]) -> None:
    """With every worker busy comparing texts of 6,500 words, health, counts and documents are answered."""
    texts = [long_text(i, 6_500) for i in range(8)]
    bodies = [{"a": texts[i], "b": texts[7 - i], "distances": ["wmd", "rel-wmd"]} for i in range(6)]
    address, _ = usual
    with asking(address, "/api/distance", bodies) as statuses:
        time.sleep(0.5)
        for _ in range(5):
            assert httpx.get(f"{address}/healthz", timeout=10).status_code == 200
            assert httpx.get(f"{address}/api/stats", timeout=10).json()["documents"] == DOCUMENTS
            assert httpx.get(f"{address}/api/documents/d7", timeout=10).status_code == 200
    assert set(statuses) <= {200, 503}


@needs_proc
def test_work_ends_when_its_client_goes(usual: tuple[str, int]) -> None:
    address, pid = usual
    _leave(address, pid)
    assert _reaches(lambda: busy_share(pid, 1) < 0.05)
    assert httpx.post(f"{address}/api/search", json={"texts": ["a boat"]}, timeout=10).status_code == 200


@needs_proc
@pytest.mark.slow
def test_work_ends_within_a_second(large_index: Path) -> None:
    """The promise itself: how long after two clients have gone the process computes no more."""
    seconds = []
    with serving(large_index, "--quiet") as (address, process):
        for _ in range(5):
            _leave(address, process.pid)
            gone = time.monotonic()
            while busy_share(process.pid, 0.1) > 0.15:
                assert time.monotonic() - gone < 30
            seconds.append(time.monotonic() - gone - 0.1)  # the last span was quiet from its beginning
    print("idle after", ", ".join(f"{one:.2f}" for one in seconds), "s")
    assert max(seconds) < 1


def _leave(address: str, pid: int) -> None:
    """Two clients send about the heaviest that is allowed, and go away while the service works on it."""
    body = json.dumps(heaviest()).encode()
    head = "POST /api/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"
    place = urlsplit(address)
    clients = [socket.create_connection((place.hostname, place.port)) for _ in range(2)]
    for client in clients:
        client.sendall(head.encode() + body)
    assert _reaches(lambda: busy_share(pid, 0.5) > 0.08)
    for client in clients:
        client.close()


@needs_proc
def test_work_ends_when_its_time_is_over(impatient: tuple[str, int]) -> None:
    address, pid = impatient
    answer = httpx.post(f"{address}/api/search", json=heaviest(), timeout=60)
    assert answer.status_code == 503
    assert "longer than the 1 s allowed" in answer.json()["error"]
    assert _reaches(lambda: busy_share(pid, 1) < 0.05, 10)


@needs_proc
def test_explaining_ends_when_its_time_is_over(impatient: tuple[str, int]) -> None:
    """Of two long texts, and of a thousand hits; whoever asks meanwhile is answered."""
    address, pid = impatient
    words = [{"text": long_text(i, 1_800)} for i in (1, 2)]
    asked = [("/api/explain", {"a": words[0], "b": words[1], "distance": name}) for name in ("rel-rwmd", "act")]
    asked += [("/api/search", {"texts": [long_text(i, 300)], "k": 1000, "explain": True}) for i in (1, 2)]
    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(httpx.post, address + path, json=body, timeout=120) for path, body in asked]
        assert {one.result().status_code for one in answers} <= {200, 503}
    assert httpx.post(f"{address}/api/search", json={"texts": ["a boat"]}, timeout=60).status_code == 200
    assert _reaches(lambda: busy_share(pid, 1) < 0.05, 10)


def test_passages_split_each_sentence_once(large_index: Path) -> None:
    """A text of sentences without words: what is split is not longer than the text, however many there are."""
    with wordferry.Index.open(large_index) as index:
        engine = ServedIndex(index, Limits())
        split, seen = index.tokenizer, [0]

        def counted(text: str) -> list[str]:
            seen[0] += len(text)
            return list(split(text))

        index.tokenizer = counted
        text = "the. of! " * 5_000 + "A ferry carries sailors over the river. " * 50
        asked = {"a": {"text": "sailors on a river"}, "b": {"text": text}}
        request = SimpleNamespace(distance="wmd", passages=1, **{name: _Given(one) for name, one in asked.items()})
        answer = engine.explain(engine.pair(request, {}), None)
        assert len(answer["passages"]) == 1
        assert seen[0] < 4 * len(text)


class _Given(SimpleNamespace):
    """One side of a request."""

    def __init__(self, values: dict[str, str]) -> None:
        super().__init__(**values)

    def model_dump(self) -> dict[str, str]:
        return dict(vars(self))


def test_the_graph_of_own_vectors_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests that come while it is being made wait for it; one whose time is over does not stop it."""
    rng = np.random.default_rng(0)
    vectors = wordferry.Embeddings([f"word{i}" for i in range(800)], rng.normal(size=(800, 20)))
    with wordferry.Index.create(tmp_path / "own", embeddings=vectors) as index:
        index.add(["word1 word2", "word3 word4"])
    made: list[str] = []
    ready = threading.Event()

    def watched(embeddings: Any, **options: Any) -> Any:
        made.append(threading.current_thread().name)
        assert ready.wait(60)
        return related_of(embeddings, **options)

    monkeypatch.setattr(service, "related_of", watched)
    body = {"a": "word1 word5", "b": "word7 word9", "distances": ["rel-rwmd", "rel-wmd"]}
    with open_client(tmp_path / "own", limits=Limits(seconds=1)) as client, ThreadPoolExecutor(6) as pool:
        assert [client.post("/api/distance", json=body).status_code for _ in range(2)] == [503, 503]
        asked = [pool.submit(client.post, "/api/distance", json=body) for _ in range(6)]
        ready.set()
        values = [one.result().json().get("values") for one in asked]
        pair = {"a": {"text": body["a"]}, "b": {"text": body["b"]}, "distance": "rel-rwmd"}
        explained = client.post("/api/explain", json=pair).json()
    expected = {name: wordferry.distance(body["a"], body["b"], name, embeddings=vectors) for name in body["distances"]}
    assert values == [expected] * 6
    assert explained["value"] == pytest.approx(expected["rel-rwmd"], abs=1e-6)
    assert len(made) == 1
    assert made[0].startswith("wordferry-graph")


def _reaches(state: Callable[[], bool], seconds: float = 30) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if state():
            return True
    return False


def test_stop_under_full_load(large_index: Path, tmp_path: Path) -> None:
    assert _stopped_under_full_load(large_index, tmp_path) < 15  # it ends itself after 4.5; the rest is this machine


@pytest.mark.slow
def test_stop_under_full_load_in_time(large_index: Path, tmp_path: Path) -> None:
    seconds = []
    for number in range(5):
        (tmp_path / str(number)).mkdir()
        seconds.append(_stopped_under_full_load(large_index, tmp_path / str(number)))
    print("stopped after", ", ".join(f"{one:.2f}" for one in seconds), "s")
    assert max(seconds) < 5


def _stopped_under_full_load(large_index: Path, tmp_path: Path) -> float:
    """SIGTERM while searches and writes run: the service ends in seconds and keeps what it acknowledged."""
    path = tmp_path / "copy"
    shutil.copytree(large_index, path)
    acknowledged: set[str] = set()
    deleted: set[str] = set()
    stop = threading.Event()
    with (
        serving(path, "--quiet", WORDFERRY_WRITER_TOKEN="writer") as (address, process),
        asking(address, "/api/search", [heaviest(i) for i in range(4)]),
        asking(address, "/api/search", [{"texts": ["a boat on the river"]} for _ in range(4)]),
    ):
        writers = [
            threading.Thread(target=_write, args=(address, f"w{i}", acknowledged, deleted, stop)) for i in range(2)
        ]
        for writer in writers:
            writer.start()
        assert _reaches(lambda: len(acknowledged) > 3)
        start = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        seconds = time.monotonic() - start
        stop.set()
        for writer in writers:
            writer.join()
    with wordferry.Index.open(path) as index:
        assert acknowledged - deleted <= set(index.ids())
    return seconds


TOO_MUCH: list[tuple[str, dict[str, Any], str]] = [
    (
        "/api/search",
        {"texts": ["a boat"], "distance": "act"},
        "texts, distance, k: 1 text of up to 1 different words x",
    ),
    (
        "/api/distance",
        {"a": "old boats", "b": "new boats"},
        "a, b, distances: 2 x 2 different words by rel-rwmd + 2*cosine is",
    ),
    ("/api/explain", {"a": {"text": "old boats"}, "b": {"text": "new boats"}}, "a, b: 2 x 2 different words explained"),
]


@pytest.mark.parametrize(("path", "body", "text"), TOO_MUCH, ids=[path for path, _, _ in TOO_MUCH])
def test_too_much_work_is_refused(built_index: Path, path: str, body: Any, text: str) -> None:
    with open_client(built_index, limits=Limits(work=10, light_work=1)) as client:
        answer = client.post(path, json=body)
    assert answer.status_code == 422
    assert text in answer.json()["error"]
    assert "times the work that one request may ask for" in answer.json()["error"]


def test_the_attack_of_old_is_refused(large_index: Path) -> None:
    """Texts that stopped all searches: refused at once, or worked off beside the others."""
    with open_client(large_index) as client:
        body = {"texts": [long_text(i) for i in range(8)], "k": 10, "distance": "wmd"}
        answer = client.post("/api/search", json=body)
    assert answer.status_code == 422
    assert "different words x 4000 documents by wmd for 11 hits is about" in answer.json()["error"]


def of_texts(
    distance: str | None, *words: int, sizes: tuple[int, int] = THOUSAND, k: int = 10, explain: bool = False
) -> WorkEstimate:
    """A search for texts of so many different words."""
    how = {} if distance is None else {"distance": distance}
    return of_search([SearchQuery("", k, explain=explain, words=count, how=how) for count in words], *sizes)


def test_estimates_grow_with_what_is_asked() -> None:
    few = of_texts("rel-rwmd", 10)
    assert of_texts("wmd", 10).steps > few.steps
    assert of_texts("rel-rwmd", 10, 10).steps == 2 * few.steps
    assert of_texts("rel-rwmd", 10, sizes=(2_000, 500)).steps > few.steps
    filtered = SearchQuery("", 10, words=10, how={"distance": "rel-rwmd"}, filter={"year": {"gt": 1, "lt": 2}})
    assert of_search([filtered], *THOUSAND).steps > few.steps
    assert of_texts("wmd", 10, sizes=(1_000, 900)).steps > of_texts("wmd", 10).steps
    assert of_texts(None, 10).steps < few.steps
    assert of_texts("rel-rwmd", 110, sizes=(1_000_000, 40_000)).light(Limits())
    assert not of_texts("wmd", 110, sizes=(1_000_000, 40_000)).light(Limits())
    assert of_texts(None, 10, k=1_000).steps > 10 * of_texts(None, 10).steps
    assert of_texts(None, 10, k=1_000, explain=True).steps > 2 * of_texts(None, 10, k=1_000).steps
    assert not of_texts(None, *[10] * 64, k=1_000).light(Limits())
    with pytest.raises(InputError, match="for 1001 hits explained is about"):
        of_texts(None, *[10] * 64, k=1_000, explain=True).check(Limits())
    with pytest.raises(InputError, match=r"about 4\.5 times"):
        of_texts("wmd", 10_000, sizes=(10, 60_000)).check(Limits())
    assert of_pair(["wmd", "act"], 10, 10).steps > of_pair(["wmd"], 10, 10).steps
    with pytest.raises(InputError, match="about 2,000 times"):
        of_explanation("wmd", 100_000, 100_000, 0).check(Limits(work_bytes=160 * 5e6))
    assert not of_explanation("wmd", 1, 1, 1_000_000).light(Limits())
    with pytest.raises(InputError, match="rel-rwmd"):
        of_texts("wmd", *[12_528] * 16, sizes=(20_000, 5_000)).check(Limits())


def test_a_batch_is_cancelled_when_nobody_waits_for_it() -> None:
    """One of two goes: the work goes on for the other. Both go: it is cancelled."""
    ended: list[str] = []

    def work(key: str, items: Sequence[int]) -> list[int]:
        until = time.monotonic() + (0.3 if key == "short" else 60)
        try:
            while time.monotonic() < until:
                check_cancelled()
                time.sleep(0.005)
        except Cancelled:
            ended.append(f"{key} cancelled")
            raise
        ended.append(f"{key} done")
        return list(items)

    async def scene() -> None:
        workers = Workers("test", 1, 100)
        batcher: Batcher[int, int] = Batcher(work, workers, largest=8)
        for key in ("short", "long"):
            tasks = [asyncio.create_task(submit(batcher, key, i)) for i in range(2)]
            await asyncio.sleep(0.1)
            tasks[0].cancel()
            if key == "long":
                await asyncio.sleep(0.05)
                assert ended == ["short done"]
                tasks[1].cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for _ in range(200):
            if len(ended) < 2:
                await asyncio.sleep(0.01)
        assert await submit(batcher, "short", 5) == 5
        workers.close()

    asyncio.run(scene())
    assert ended == ["short done", "long cancelled", "short done"]

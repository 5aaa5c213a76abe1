"""Everything at once for a long time: no wrong answer, no memory that grows, nothing left open.

``WORDFERRY_SOAK_SECONDS`` sets how long the slow form runs (default 600).
"""

from __future__ import annotations

import gc
import os
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import wordferry
from tests.index.collection import WORDS, assert_hits, embeddings
from tests.index.other_user import Ask, other_user
from wordferry.base.runtime import Cancel, cancellable
from wordferry.errors import Cancelled, ReplacedError
from wordferry.index import Index
from wordferry.index.search import lists as nearest
from wordferry.index.write import segment_writer as publish

LONG = float(os.environ.get("WORDFERRY_SOAK_SECONDS", "600"))
SAID = "w01 w07 w13 w22"
PLAIN = {"weights": "counts", "unknown": "drop"}
"""Documents as their files hold them: what the brute force compares with."""


def text(rng: random.Random) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 12)))


class Soak:
    """One index, the threads that use it, and what they found wrong."""

    def __init__(self, place: Path, ask: Ask | None) -> None:
        self.place = place
        self.ask = ask
        """Asks a reader who may not write; None where we cannot become another user."""
        self.emb = embeddings()
        self.stop = threading.Event()
        self.problems: list[str] = []
        self.compared = 0
        self.counts = dict.fromkeys(("add", "delete", "upsert", "compact", "replace", "cancelled", "replaced"), 0)

    def change(self, index: Index, rng: random.Random, serial: int) -> None:
        """One random change."""
        ids = index.ids()
        kind = rng.choices(["add", "delete", "upsert", "compact"], [6, 4, 2, 1])[0]
        if kind == "add" or not ids:
            index.add([{"id": f"{serial}-{i}", "text": text(rng), "n": i % 3} for i in range(rng.randrange(1, 40))])
        elif kind == "delete":
            index.delete(rng.sample(ids, min(len(ids), max(1, len(ids) // 4 if len(ids) > 300 else 3))))
        elif kind == "upsert":
            index.upsert([{"id": id, "text": text(rng), "n": 1} for id in rng.sample(ids, min(3, len(ids)))])
        else:
            index.compact()
        self.counts[kind] += 1

    def write(self, seconds: float) -> None:
        """Change the index until time is up; now and then put another one in its place."""
        rng, serial = random.Random(1), 0
        end = time.monotonic() + seconds
        while not self.enough(seconds, end) and not self.problems:
            with Index.create(self.place, embeddings=self.emb, related=4, overwrite=True, **PLAIN) as index:
                index.add([{"id": "first", "text": SAID, "n": 0}])
                self.counts["replace"] += 1
                for _ in range(60):
                    serial += 1
                    self.change(index, rng, serial)
                    if self.enough(seconds, end):
                        break
                index.verify()
                self.ask_other_user(index)

    def enough(self, seconds: float, end: float) -> bool:
        """Whether time is up and everything has happened; a busy machine gets a minute more for that."""
        happened = all(self.counts.values()) and self.compared > seconds / 2
        return time.monotonic() > end + (0 if happened else 60)

    def ask_other_user(self, index: Index) -> None:
        """What a reader without rights sees, beside the writer: the index that was replaced is said to be."""
        if self.ask is None:
            return
        answer = self.ask("ids") if self.counts["replace"] > 1 else {"error": "ReplacedError"}
        if isinstance(answer, dict) and answer["error"] == "ReplacedError":
            self.ask("close")
            assert self.ask("open", str(self.place)) is True
            answer = self.ask("ids")
        assert answer == index.ids()
        assert self.ask("search", SAID) == sorted(index.ids())

    def read(self, seed: int) -> None:
        """Search, compare with brute force where nothing changed meanwhile, and open the index again when replaced."""
        rng = random.Random(seed)
        index: Index | None = None
        try:
            while not self.stop.is_set():
                try:
                    index = index or Index.open(self.place)
                    self.compare(index, rng)
                    self.interrupt(index, rng)
                except ReplacedError:
                    self.counts["replaced"] += 1
                    if index is not None:
                        index.close()
                    index = None
        except BaseException as error:
            self.problems.append(f"{type(error).__name__}: {error}")
        finally:
            if index is not None:
                index.close()

    def compare(self, index: Index, rng: random.Random) -> None:
        query = text(rng)
        distance = rng.choice(["rel-rwmd", "rel-rwmd", "wcd", "wmd"])
        condition = rng.choice([None, {"n": {"lte": 2}}])
        with index.backend.state() as (_, before):
            pass
        hits = index.similar(query, k=5, distance=distance, filter=condition, threads=1)
        docs = list(index)
        related = index.related if distance == "rel-rwmd" else None
        with index.backend.state() as (_, after):
            pass
        if before.generation != after.generation:
            return
        allowed = [doc for doc in docs if condition is None or doc.metadata["n"] <= 2]
        if not allowed:
            assert hits == []
            return
        texts = [str(doc.text) for doc in allowed]
        row = wordferry.pairwise([query], texts, distance, embeddings=self.emb, related=related, threads=1)[0]
        assert_hits(hits, [(allowed[i].id, float(row[i])) for i in np.argsort(row, kind="stable")[:5]])
        self.compared += 1

    def interrupt(self, index: Index, rng: random.Random) -> None:
        """A client that goes away: the search ends early or is answered, and the next one is right."""
        cancel = Cancel()
        timer = threading.Timer(rng.random() * 0.002, cancel.cancel)
        timer.start()
        try:
            with cancellable(cancel):
                index.similar([text(rng) for _ in range(20)], k=5, distance="wmd", threads=1)
        except Cancelled:
            self.counts["cancelled"] += 1
        timer.join()


def resources() -> tuple[int, int]:
    """Open files and threads of this process; maps of closed indexes go when they are collected."""
    gc.collect()
    return len(os.listdir("/proc/self/fd")), threading.active_count()


def memory() -> float:
    """MB that belong to this process alone."""
    gc.collect()
    with open("/proc/self/smaps_rollup", encoding="ascii") as lines:
        return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("Anonymous"))


def sampled(soak: Soak, every: float) -> Iterator[tuple[float, float]]:
    start = time.monotonic()
    while not soak.stop.wait(every):
        yield time.monotonic() - start, memory()


def run(seconds: float, warm: float) -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        os.chmod(folder, 0o755)
        ask = stack.enter_context(other_user()) if os.geteuid() == 0 else None
        soak_in(Path(folder) / "index", ask, seconds, warm)


def soak_in(place: Path, ask: Ask | None, seconds: float, warm: float) -> None:
    open_before, threads_before = resources()
    soak = Soak(place, ask)
    Index.create(place, embeddings=soak.emb, related=4, **PLAIN).close()
    readers = [threading.Thread(target=soak.read, args=(seed,)) for seed in (1, 2)]
    used: list[tuple[float, float]] = []
    watcher = threading.Thread(target=lambda: used.extend(sampled(soak, max(seconds / 60, 0.5))))
    for thread in (*readers, watcher):
        thread.start()
    try:
        soak.write(seconds)
    finally:
        soak.stop.set()
        for thread in (*readers, watcher):
            thread.join()
    assert not soak.problems, soak.problems
    assert soak.compared > seconds / 2
    assert all(soak.counts[name] for name in ("add", "delete", "upsert", "compact", "replace", "replaced", "cancelled"))
    assert resources() == (open_before, threads_before)
    print(f"{seconds:.0f} s: {soak.compared} searches compared, {soak.counts}, open files and threads as before")
    later = [mb for at, mb in used if at >= warm]
    if len(later) >= 8:  # the second half against the first: growth that goes on shows in both
        first, second = (float(np.median(some)) for some in np.array_split(later, 2))
        print(f"own memory: {first:.1f} MB in the first half after {warm:.0f} s, {second:.1f} MB in the second")
        assert second < first + 8, used


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments after a few documents, and lists for every search, so that all parts are used."""
    monkeypatch.setattr(publish, "BUFFER", 30)
    monkeypatch.setattr(publish, "SEGMENT", 150)
    monkeypatch.setattr(nearest, "FEW", 5)


@pytest.mark.timeout(120)
def test_soak_shortly() -> None:
    run(8, 1e9)


@pytest.mark.slow
@pytest.mark.timeout(LONG * 2 + 300)
def test_soak() -> None:
    run(LONG, min(60.0, LONG / 5))

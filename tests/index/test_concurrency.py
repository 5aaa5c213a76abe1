"""Eight readers and a writer at once: no error, and every answer is that of some state of the index."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.index.collection import documents
from wordferry.index import Index

Make = Callable[..., Index]
GROUP = 5


def run_together(make: Make, place: Path, seconds: float, least: int) -> None:
    """The writer replaces and deletes whole groups; a group is always all there, with one mark, or all gone.

    It goes on for some seconds, and on a busy machine until there were ``least`` changes and every reader has answered.
    """
    writer = make()
    pool = [doc["text"] for doc in documents(200, seed=4, length=4)]
    names = [f"g{i}" for i in range(12)]

    def put(name: str, mark: int, rng: random.Random) -> None:
        writer.upsert(
            [
                {"id": f"{name}-{i}", "text": rng.choice(pool), "metadata": {"group": name, "mark": mark}}
                for i in range(GROUP)
            ]
        )

    rng = random.Random(1)
    for name in names:
        put(name, 0, rng)
    other = Index.open(place)
    failures: list[str] = []
    answers = [0] * 8
    changes = 0
    end = time.monotonic() + seconds

    def going() -> bool:
        return not failures and (time.monotonic() < end or changes < least or min(answers) == 0)

    def read(number: int) -> None:
        index = other if number % 2 else writer
        own = random.Random(number)
        try:
            while going():
                hits = index.similar(own.choice(pool), k=1000)
                groups: dict[object, set[object]] = {}
                for hit in hits:
                    groups.setdefault(hit.metadata["group"], set()).add(hit.metadata["mark"])
                counts = {name: sum(hit.metadata["group"] == name for hit in hits) for name in groups}
                if any(len(marks) != 1 for marks in groups.values()) or set(counts.values()) - {GROUP}:
                    failures.append(f"mixed states: {groups} {counts}")
                if sorted(hits, key=lambda hit: hit.distance) != hits or len({hit.id for hit in hits}) != len(hits):
                    failures.append("hits are out of order or doubled")
                answers[number] += 1
        except Exception as error:  # a thread's failure must reach the test
            failures.append(repr(error))

    threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    while going():
        changes += 1
        action, name = rng.random(), rng.choice(names)
        if action < 0.7:
            put(name, changes, rng)
        elif action < 0.95:
            writer.delete([f"{name}-{i}" for i in range(GROUP)], missing_ok=True)
        else:
            writer.compact()
    for thread in threads:
        thread.join()
    assert failures == []
    writer.verify()
    other.close()


def test_readers_and_a_writer(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordferry.index.write.segment_writer.BUFFER", 12)
    run_together(make, tmp_path / "index", 5, least=4)


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_readers_and_a_writer_for_a_minute(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordferry.index.write.segment_writer.BUFFER", 12)
    run_together(make, tmp_path / "index", 60, least=51)

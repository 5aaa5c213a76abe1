"""kill -9 at random moments and at every step: nothing acknowledged is lost, nothing is there by half."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import wordferry
from tests.index.collection import assert_equals_brute_force, documents, embeddings, source, source_of
from tests.index.crash_worker import POOL, STEPS, follow
from wordferry.index import Index

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.disk


def worker(*arguments: object) -> subprocess.Popen[str]:
    package = Path(wordferry.__file__).resolve().parents[1]  # the one under test, installed or not
    environment = dict(os.environ, PYTHONPATH=f"{ROOT}:{package}", WORDFERRY_THREADS="1")
    command = [sys.executable, "-m", "tests.index.crash_worker", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def allowed_states(journal: Path) -> tuple[list[dict[str, str]], int]:
    """What the index may hold: all that was acknowledged, with or without the change that was under way."""
    model: dict[str, str] = {f"d{i}": doc["text"] for i, doc in enumerate(documents(20))}
    under_way = None
    changes = 0
    for line in journal.read_text(encoding="utf-8").splitlines():
        kind, change = json.loads(line)
        if kind == "begin":
            under_way = change
        else:
            model, under_way = follow(model, under_way), None
            changes += 1
    return ([model] if under_way is None else [model, follow(model, under_way)]), changes


def lines_of(journal: Path) -> int:
    return journal.read_bytes().count(b"\n")


def kill_at_random(place: Path, kills: int, vectors: object = None) -> None:
    index_path, journal = place / "index", place / "journal"
    journal.touch()
    with Index.create(index_path, embeddings=vectors or embeddings(), related=4) as index:
        index.add(documents(20))
    rng = random.Random(kills)
    for round_number in range(kills):
        process = worker("random", index_path, journal, round_number + 1)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        begun = lines_of(journal)
        while lines_of(journal) < begun + 4 and process.poll() is None:  # two changes, however busy the machine is
            time.sleep(0.01)
        time.sleep(rng.random() * 0.5)
        assert process.poll() is None, "the worker ended by itself"
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        states, _ = allowed_states(journal)
        with Index.open(index_path, embeddings=source_of(index_path)) as index:
            held = {doc.id: doc.text for doc in index}
            assert held in states
            index.verify()
            if vectors is None:
                assert_equals_brute_force(index, [POOL[round_number], "w01 w59"])
            else:
                assert index.stats().coverage == 1
        # what was under way is settled now, one way or the other
        if len(states) == 2 and held == states[1] and states[0] != states[1]:
            with open(journal, "a", encoding="utf-8") as log:
                log.write('["done", null]\n')
        elif len(states) == 2:
            lines = journal.read_text(encoding="utf-8").splitlines()
            journal.write_text("".join(f"{line}\n" for line in lines[:-1]), encoding="utf-8")
    assert allowed_states(journal)[1] > kills, "the workers changed too little for the kills to mean anything"


@pytest.mark.timeout(120)
def test_kill_at_random_moments(tmp_path: Path) -> None:
    kill_at_random(tmp_path, 6)


@pytest.mark.timeout(120)
def test_kill_where_the_index_makes_vectors(tmp_path: Path) -> None:
    kill_at_random(tmp_path, 4, source())


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_kill_at_fifty_random_moments(tmp_path: Path) -> None:
    kill_at_random(tmp_path, 50)


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("vectors", "every"), [("table", 3), *(pytest.param(name, 1, marks=pytest.mark.slow) for name in ("table", "made"))]
)
def test_kill_at_steps(tmp_path: Path, vectors: str, every: int) -> None:
    """At each fsync, rename, removal of every kind of change, or at every third: the state before or after, sound, and
    writable."""
    process = worker("steps", tmp_path, vectors, every)
    assert process.stdout is not None
    before = {doc["id"]: doc["text"] for doc in documents(20, words=40)}
    steps: dict[int, int] = {}
    for line in process.stdout:
        number, step, finished, held = json.loads(line)
        after = follow(before, STEPS[number])
        assert held == after if finished else held in (before, after)
        steps[number] = step
    assert process.wait() == 0
    process.stdout.close()
    assert sorted(steps) == list(range(len(STEPS)))
    assert steps[1] > 10
    assert steps[4] > 10

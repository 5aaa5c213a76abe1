"""Run by the crash tests in processes of their own: changes an index until it is killed.

python -m tests.index.crash_worker random INDEX JOURNAL SEED   random changes for ever, each noted before and after
python -m tests.index.crash_worker steps FOLDER VECTORS EVERY  kills a copy of itself at every n-th step of some changes
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.index.collection import documents, embeddings, source, source_of
from wordferry.index import Index
from wordferry.index.write import segment_writer as publish

POOL = [doc["text"] for doc in documents(400, seed=77, length=4)]
Change = tuple[str, Any]


def choose(rng: random.Random, known: list[str], serial: list[int]) -> Change:
    """A random change to an index that holds the documents ``known``."""

    def fresh(count: int) -> list[dict[str, Any]]:
        serial[0] += count
        return [{"id": f"n{serial[0] - i}", "text": rng.choice(POOL), "metadata": {"n": i}} for i in range(count)]

    kind = rng.choices(["add", "bulk", "upsert", "delete", "compact"], [8, 3, 3, 4, 2])[0]
    some = rng.sample(known, min(len(known), rng.randrange(1, 5)))
    if kind == "delete" and some:
        return "delete", some
    if kind == "upsert":
        return "upsert", [*fresh(2), *({"id": key, "text": rng.choice(POOL)} for key in some)]
    if kind == "compact":
        return "compact", None
    return "add", fresh(rng.randrange(1, 4) if kind == "add" else 15)


def apply(index: Index, change: Change) -> None:
    """Make a change."""
    kind, what = change
    if kind == "compact":
        index.compact()
    else:
        getattr(index, kind)(what)


def follow(model: dict[str, str], change: Change) -> dict[str, str]:
    """What a dictionary of texts holds after a change."""
    kind, what = change
    after = dict(model)
    for item in what or []:
        after.pop(item if kind == "delete" else item["id"], None)
        if kind != "delete":
            after[item["id"]] = item["text"]
    return after


def run_random(place: Path, journal: Path, seed: int) -> None:
    rng = random.Random(seed)
    serial = [seed * 1_000_000]
    with open(journal, "a", buffering=1, encoding="utf-8") as log:
        index = Index.open(place, embeddings=source_of(place))
        print("ready", flush=True)
        while True:
            change = choose(rng, index.ids(), serial)
            log.write(json.dumps(["begin", change]) + "\n")
            apply(index, change)
            log.write(json.dumps(["done", None]) + "\n")


STEPS: list[Change] = [
    ("add", [{"id": f"a{i}", "text": POOL[i]} for i in range(3)]),
    ("add", [{"id": f"b{i}", "text": POOL[i + 9]} for i in range(15)]),
    ("upsert", [{"id": f"d{i}", "text": POOL[i + 50]} for i in range(12)]),
    ("delete", ["d1", "d2"]),
    ("compact", None),
]


def run_steps(folder: Path, every: int) -> None:
    """For every change and calls that put something on the disk: die there, then look at what is left."""
    for number, change in enumerate(STEPS):
        step, finished = 1 - every, False
        while not finished:
            step += every
            copy = folder / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(folder / "index", copy)
            child = os.fork()
            if child == 0:
                die_at(step)
                index = Index.open(copy, embeddings=source_of(copy))
                apply(index, change)
                index.close()
                os._exit(0)
            finished = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            with Index.open(copy, embeddings=source_of(copy)) as index:
                held = {doc.id: doc.text for doc in index}
                index.verify()
                index.similar(POOL[0], k=3)
                index.add([{"id": "after", "text": POOL[1]}])  # and it can be written again
                index.verify()
            print(json.dumps([number, step, finished, held]), flush=True)


def die_at(step: int) -> None:
    """From now on, the step-th call that writes, syncs, renames or removes kills the process just before it."""
    count = 0

    def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return call

    for name in ("fsync", "rename", "unlink", "mkdir", "rmdir", "ftruncate"):
        setattr(os, name, wrapped(getattr(os, name)))


def main(arguments: list[str]) -> None:
    publish.BUFFER = 8
    if arguments[0] == "random":
        run_random(Path(arguments[1]), Path(arguments[2]), int(arguments[3]))
    else:
        folder, vectors = Path(arguments[1]), source() if arguments[2] == "made" else embeddings()
        with Index.create(folder / "index", embeddings=vectors, related=4) as index:
            index.add(documents(20, words=40))
        run_steps(folder, int(arguments[3]))


if __name__ == "__main__":
    main(sys.argv[1:])

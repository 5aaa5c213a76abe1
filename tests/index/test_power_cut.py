"""A power cut at every point of every kind of change: what was acknowledged is there, and the index is sound."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import wordferry
from tests.index.collection import documents, embeddings
from tests.index.crash_worker import POOL, STEPS, apply, follow
from tests.index.disk import CALLS, Disk, Tree, calls, write_tree
from wordferry.index import Index
from wordferry.index.write import segment_writer as publish

ROOT = Path(__file__).resolve().parents[2]
KEPT = [("safe", "safe"), ("all", "safe"), ("all", "all"), ("safe", "some"), ("all", "some")]
"""Names and bytes that a cut keeps: nothing that was not synced; names before bytes; all; and some of the writes."""

pytestmark = pytest.mark.disk


def work(place: Path) -> None:
    """Run under strace: the changes one after the other, each acknowledged on standard output."""
    publish.BUFFER = 8
    index = Index.open(place)
    os.write(1, b"ready\n")
    for change in STEPS:
        apply(index, change)
        os.write(1, b"done\n")
    index.close()


def record(place: Path, trace: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is needed to record the system calls (apt install strace)")
    package = Path(wordferry.__file__).resolve().parents[1]
    environment = dict(os.environ, PYTHONPATH=f"{ROOT}:{package}", WORDFERRY_THREADS="1", OPENBLAS_NUM_THREADS="1")
    command = [sys.executable, "-m", "tests.index.test_power_cut", str(place)]
    done = subprocess.run(
        ["strace", "-f", "-xx", "-s", "100000000", "-e", f"trace={CALLS}", "-o", str(trace), *command],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    if "ptrace" in done.stderr or "Operation not permitted" in done.stderr:
        pytest.skip(f"this system does not allow strace: {done.stderr.strip()[-100:]}")
    assert done.stdout.count("done") == len(STEPS), done.stderr


@pytest.mark.timeout(900)
@pytest.mark.parametrize("step", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_a_power_cut_at_every_point(step: int, tmp_path: Path) -> None:
    """Of the different states of the disk every twelfth is looked at, all of them in the long form."""
    place, trace = tmp_path / "index", tmp_path / "trace"
    with Index.create(place, embeddings=embeddings(), related=4) as index:
        index.add(documents(20, words=40))
    disk = Disk(place)
    record(place, trace)
    states = [{doc["id"]: doc["text"] for doc in documents(20, words=40)}]
    for change in STEPS:
        states.append(follow(states[-1], change))
    ready, acknowledged, checked, changes = False, 0, 0, 0
    seen: set[int] = set()
    for number, (name, arguments, result) in enumerate(calls(trace)):
        if name == "write" and arguments[0] == "1":
            ready, acknowledged = True, acknowledged + arguments[1].count(b"done")
        elif disk.call(name, arguments, result) and ready:
            changes += 1
            for names, data in KEPT:
                tree = disk.after_cut(names, data, number)
                key = hash((acknowledged, tuple(tree.items())))
                if key not in seen:
                    seen.add(key)
                    if len(seen) % step == 0:
                        check(tree, tmp_path / "cut", states[acknowledged : acknowledged + 2])
                        checked += 1
    looked = f"{checked} of {len(seen)} different states of the disk looked at"
    print(f"{acknowledged} changes, {changes} points to cut at, {looked}, all whole")
    assert acknowledged == len(STEPS)
    assert changes > 100
    assert checked > 100


def check(tree: Tree, place: Path, allowed: list[dict[str, str]]) -> None:
    write_tree(tree, place)
    with Index.open(place) as index:
        assert {doc.id: doc.text for doc in index} in allowed
        index.verify()
        index.similar(POOL[0], k=3)
    shutil.rmtree(place)


def test_the_disk_forgets(tmp_path: Path) -> None:
    """The checker can fail: a file that is renamed before it is synced is lost with the power."""
    (tmp_path / "a").write_bytes(b"old")
    disk = Disk(tmp_path)
    path = str(tmp_path).encode()
    disk.call("openat", ["AT_FDCWD", path + b"/b", "O_WRONLY|O_CREAT"], 3)
    disk.call("write", ["3", b"new", "3"], 3)
    disk.call("rename", [path + b"/b", path + b"/a"], 0)
    assert disk.after_cut("all", "safe") == {"a": b""}
    assert disk.after_cut("all", "all") == {"a": b"new"}
    assert disk.after_cut("safe", "safe") == {"a": b"old"}
    disk.call("fsync", ["3"], 0)
    assert disk.after_cut("safe", "safe") == {"a": b"old"}
    disk.call("openat", ["AT_FDCWD", path, "O_RDONLY"], 4)
    disk.call("fsync", ["4"], 0)
    assert disk.after_cut("safe", "safe") == {"a": b"new"}


if __name__ == "__main__":
    work(Path(sys.argv[1]))

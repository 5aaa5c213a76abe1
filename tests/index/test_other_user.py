"""A reader who may not write, beside a writer who works: in a process of another user, because root may all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.index.collection import documents, embeddings
from wordferry.index import Index, publish

pytestmark = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may become another user"
)
ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
Ask = Callable[..., object]

READER = """
import json, os, sys, tempfile
from tests.index.collection import documents, embeddings
from wordferry.index import Index
from wordferry.errors import WordferryError
with tempfile.TemporaryDirectory() as folder, Index.create(folder + "/x", embeddings=embeddings()) as index:
    index.add(documents(3))  # whatever is imported late is imported now: others may not read Python's own files
    index.search("w01", filter={"year": 1990}), index.verify(), index.ids()
os.setgid(65534), os.setuid(65534)
index = None
for line in sys.stdin:
    kind, what = json.loads(line)
    try:
        if kind == "open":
            index, answer = Index.open(what), True
        elif kind == "close":
            index, answer = index.close(), True
        elif kind == "search":
            answer = sorted(hit.id for hit in index.search(what, k=10_000))
        elif kind == "ids":
            answer = index.ids()
        elif kind == "verify":
            answer = index.verify().documents
        else:
            index.add([what])
    except WordferryError as error:
        answer = {"error": type(error).__name__, "text": str(error)}
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that others may enter and read (those of pytest are closed to them)."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder) / "index"


@pytest.fixture
def ask() -> Iterator[Ask]:
    """Asks an index that another user has open."""
    process = subprocess.Popen(
        [sys.executable, "-c", READER],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ, WORDFERRY_THREADS="1"),
    )

    def put(kind: str, what: object = None) -> object:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([kind, what]) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    yield put
    process.communicate()


def test_a_reader_without_rights_sees_what_a_writer_does(
    place: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "BUFFER", 8)
    wanted = [f"d{i}" for i in range(20)]
    with Index.create(place, embeddings=embeddings(), related=4) as index:
        index.add(documents(20))
    assert ask("open", str(place)) is True
    assert ask("ids") == wanted
    for round_number in range(3):  # the writer comes and goes three times; the reader stays
        with Index.open(place) as index:
            for step in range(4):
                added = [{"id": f"{round_number}-{step}-{i}", "text": "w01 w02"} for i in range(1 + 3 * step)]
                wanted += index.add(added)
                assert ask("ids") == wanted
                assert ask("search", "w01 w02") == sorted(wanted)
            index.delete(wanted[3])
            del wanted[3]
            assert ask("search", "w03") == sorted(wanted)
            index.compact()
            assert ask("ids") == wanted
        assert ask("ids") == wanted
        assert ask("search", "w01") == sorted(wanted)
        assert ask("verify") == len(wanted)
    assert ask("close") is True
    assert ask("open", str(place)) is True
    assert ask("ids") == wanted
    with Index.open(place) as index:
        index.verify()


def test_a_reader_without_rights_may_not_write(place: Path, ask: Ask) -> None:
    with Index.create(place, embeddings=embeddings(), related=4) as index:
        index.add(documents(3))
    assert ask("open", str(place)) is True
    answer = ask("add", "w01")
    assert isinstance(answer, dict)
    assert answer["error"] == "StorageError"
    assert "cannot be written" in answer["text"]


def test_a_reader_without_rights_opens_beside_a_writer(place: Path, ask: Ask) -> None:
    """The writer has the log open, and has not yet written to it."""
    with Index.create(place, embeddings=embeddings(), related=4) as index:
        index.add(documents(3))
    with Index.open(place) as index:
        assert len(index) == 3
        assert ask("open", str(place)) is True
        assert len(ask("ids")) == 3  # type: ignore[arg-type]
        index.add(["w01"])
        assert len(ask("ids")) == 4  # type: ignore[arg-type]

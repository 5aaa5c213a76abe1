"""What a closed or replaced index leaves behind: no open file, no map, no object of its own."""

from __future__ import annotations

import ast
import contextlib
import gc
import logging
import os
import shutil
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import wordferry
from tests.index.collection import PLAIN, documents, embeddings
from wordferry.base.runtime import Cancel, cancellable
from wordferry.errors import Cancelled, InputError, ReplacedError
from wordferry.index import Index
from wordferry.index.search import lists as nearest
from wordferry.index.write import segment_writer as publish

pytestmark = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="/proc tells what is open")
DISTANCES = ["rel-rwmd", "wmd", "wcd", "rwmd", "rel-wmd", "cosine", "tfidf-l1"]


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments after a few documents, and lists for every search, so that all parts are used."""
    monkeypatch.setattr(publish, "BUFFER", 10)
    monkeypatch.setattr(publish, "SEGMENT", 40)
    monkeypatch.setattr(nearest, "FEW", 2)


@pytest.fixture
def kept() -> Iterator[list[logging.LogRecord]]:
    """Log records that somebody keeps, as handlers in memory and services that collect errors do."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    log = logging.getLogger("wordferry")
    log.addHandler(handler)
    yield records
    log.removeHandler(handler)


def opened(folder: Path) -> tuple[int, int]:
    """Files below a folder that this process has open, and has mapped; removed ones count."""
    gc.collect()
    links = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the one that lists them
            links.append(os.readlink(f"/proc/self/fd/{name}"))
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    return sum(str(folder) in link for link in links), sum(str(folder) in line for line in maps)


def use(index: Index) -> None:
    """Searches of every kind, and one that is cancelled."""
    for distance in DISTANCES:
        index.similar("w01 w02 w33", k=3, distance=distance, filter={"year": {"lte": 1999}}, threads=1)
    index.similar("w01 w02 unheard", k=3, weights="idf", unknown="match")
    index.search("w01 w02", k=3, explain=True)
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(Cancelled), cancellable(cancel):
        index.similar("w01 w02", k=3, distance="wmd")


def test_readers_of_replaced_indexes_leave_nothing(tmp_path: Path, emb: wordferry.Embeddings) -> None:
    place, readers = tmp_path / "index", []
    for number in range(4):
        with Index.create(place, embeddings=emb, related=4, overwrite=True, **PLAIN) as writer:
            writer.add(documents(60, seed=number))
            writer.compact()
            writer.add(documents(70, seed=number)[60:])
            for reader in readers:
                with pytest.raises(ReplacedError):
                    use(reader)
                reader.close()
            readers = [Index.open(place)]
            use(readers[0])
            related = readers[0].related
            wordferry.pairwise(["w01 w59"], ["w03", "w04"], "rel-rwmd", embeddings=emb, related=related, threads=1)
            writer.verify()
    readers[0].close()
    del writer, reader, readers, related
    assert opened(tmp_path) == (0, 0)


def test_no_exception_is_logged_as_an_object() -> None:
    for file in Path(wordferry.__file__).parent.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        caught = {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)} - {None}
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("logger."):
                names = {arg.id for arg in call.args if isinstance(arg, ast.Name)}
                assert not names & caught, f"{file}:{call.lineno}"


@pytest.mark.parametrize("folder", ["graph", "segments"])
def test_a_log_that_is_kept_keeps_no_index(
    folder: str, tmp_path: Path, emb: wordferry.Embeddings, kept: list[logging.LogRecord]
) -> None:
    """Messages about folders that went away are texts: an exception in them would hold whatever its frames held."""
    with Index.create(tmp_path / "index", embeddings=emb, related=4, **PLAIN) as writer:
        writer.add(documents(60))
    for entry in (tmp_path / "index" / folder).iterdir():
        shutil.rmtree(entry)
    index = Index.open(tmp_path / "index")
    index.similar("w01 w02", k=3)
    assert any(f"/{folder}/" in record.getMessage() and "again" in record.getMessage() for record in kept)
    index.close()
    gone = weakref.ref(index)
    del index, writer
    assert opened(tmp_path) == (0, 0)
    assert gone() is None


def test_a_query_that_is_refused_costs_no_connection(make: Callable[..., Index]) -> None:
    index = make()
    index.add(documents(3))
    index.similar("w01")
    with index.backend.state() as (connection, _):
        before = connection
    with pytest.raises(InputError, match="word"):
        index.similar("nothing-that-has-a-vector")
    with index.backend.state() as (connection, _):
        assert connection is before


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_closed_index_goes_at_once(tmp_path: Path, distance: str) -> None:
    """No object of it keeps itself: services would hold its files until somebody looks for such circles."""
    with Index.create(tmp_path / "index", embeddings=embeddings(), related=3, **PLAIN) as index:
        index.add(documents(30))
    gc.collect()
    gc.disable()
    try:
        index = Index.open(tmp_path / "index")
        kept = [weakref.ref(one) for one in (index.embeddings, index.backend, index.backend.words)]
        index.similar(str(documents(1)[0]["text"]), distance=distance)
        index.search("w01 w02 w03", explain=True)
        index.close()
        del index
        assert [one() for one in kept] == [None, None, None]
    finally:
        gc.enable()

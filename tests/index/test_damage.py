"""Full disks, read-only folders, damaged files and foreign formats: a clear error that names the file."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.index.collection import assert_equals_brute_force, documents, embeddings
from wordferry.base import storage
from wordferry.errors import FormatError, StorageError, WordferryError
from wordferry.index import Index

QUERY = "w01 w02 w03"

pytestmark = pytest.mark.disk


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed index with segments, a buffer, tombstones and a graph."""
    place = tmp_path_factory.mktemp("sound") / "index"
    with pytest.MonkeyPatch.context() as patch, Index.create(place, embeddings=embeddings(), related=4) as index:
        patch.setattr("wordferry.index.write.segment_writer.BUFFER", 10)
        index.add(documents(40))
        index.add([{**doc, "id": f"x{i}"} for i, doc in enumerate(documents(5, seed=1))])
        odd = {"label": "l0", "metadata": {"year": 2001}}
        index.add([{"id": "z0", "text": "w01 zebra", **odd}, {"id": "z1", "text": "zebra xylophone w02", **odd}])
        index.delete(["d3", "d30"])
    return place


@pytest.fixture
def place(sound: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    shutil.copytree(sound, tmp_path / "index")
    return tmp_path / "index"


def flip(file: Path, position: int, bit: int = 0) -> None:
    data = bytearray(file.read_bytes())
    data[position] ^= 1 << bit
    file.write_bytes(data)


def files_of(place: Path, pattern: str) -> list[Path]:
    found = sorted(place.glob(pattern))
    assert found
    return found


def mentions(error: object, *names: str) -> bool:
    return any(name in str(error) for name in names)


def attempt(place: Path, action: Callable[[Index], Any]) -> Any:
    """The answer of an opened index, or the error it raised on purpose."""
    try:
        with Index.open(place) as index:
            return action(index)
    except WordferryError as error:
        return error


def search_and_verify(index: Index) -> Any:
    found = index.similar(QUERY, k=40)
    index.verify()
    return list(index), found


@pytest.mark.parametrize("pattern", ["segments/*/*", "graph/*/*", "embeddings/*"])
def test_a_flipped_bit_in_any_file_is_found(place: Path, pattern: str) -> None:
    """Eight positions of every file, all bits in turn: verify names it, and a search never answers wrong."""
    with Index.open(place) as index:
        wanted = index.similar(QUERY, k=5)
    checked = 0
    for file in files_of(place, pattern):
        whole = file.read_bytes()
        for number, position in enumerate(np.linspace(0, len(whole) - 1, 8).astype(int)):
            flip(file, int(position), number % 8)
            with pytest.raises(FormatError) as caught, Index.open(place) as index:
                index.verify()
            assert mentions(caught.value, file.name, file.parent.name), str(caught.value)
            answer = attempt(place, lambda index: index.similar(QUERY, k=5))
            assert answer == wanted or mentions(answer, str(place))
            file.write_bytes(whole)
            checked += 1
    assert checked >= 16
    with Index.open(place) as index:
        index.verify()


def test_a_flipped_bit_in_the_vectors_is_found_when_no_graph_is_needed(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", embeddings=embeddings(), distance="wmd") as index:
        index.add(documents(5))
    flip(tmp_path / "index" / "embeddings" / "vectors.npy", -2)
    with pytest.raises(FormatError, match=r"vectors\.npy is damaged"):
        Index.open(tmp_path / "index")


@pytest.mark.parametrize("pattern", ["segments/*/*", "graph/*/*", "embeddings/*", "catalogue.sqlite"])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_truncated_files(place: Path, pattern: str, share: float) -> None:
    for file in files_of(place, pattern):
        whole = file.read_bytes()
        file.write_bytes(whole[: int(len(whole) * share)])
        answer = attempt(place, search_and_verify)
        assert isinstance(answer, WordferryError)
        assert mentions(answer, file.name, file.parent.name), str(answer)
        for stray in place.glob("catalogue.sqlite-*"):
            stray.unlink()
        file.write_bytes(whole)


def test_flipped_bits_in_the_catalogue(place: Path) -> None:
    """Bytes that hold something are protected: a flip is found by verify, or changed nothing that can be read."""
    file = place / "catalogue.sqlite"
    whole = file.read_bytes()
    wanted = attempt(place, search_and_verify)
    found = harmless = 0
    for position in range(0, len(whole), 37):
        if whole[position] == 0:
            continue
        flip(file, position, position % 8)
        answer = attempt(place, search_and_verify)
        if isinstance(answer, WordferryError):
            assert mentions(answer, "catalogue.sqlite", str(place)), str(answer)
            found += 1
        else:
            assert answer == wanted, f"byte {position}"
            harmless += 1
        for stray in place.glob("catalogue.sqlite-*"):
            stray.unlink()
        file.write_bytes(whole)
    assert found > 50
    assert harmless < found / 4


def test_no_document_is_denied_or_left_out(place: Path) -> None:
    """A flip that hides rows of the catalogue is noticed by what asks for them, not only by verify."""
    file = place / "catalogue.sqlite"
    whole = file.read_bytes()
    filters: list[dict[str, Any]] = [{"topic": "law"}, {"year": {"gte": 1995}}]

    def ask(index: Index) -> list[Any]:
        found: list[Any] = [[index.get(id) for id in wanted_ids], [id in index for id in [*wanted_ids, "nothing"]]]
        found += [index.ids(), index.page(7), index.page(50, after="d10"), list(index)]
        return [*found, *(index.similar(QUERY, k=50, filter=one) for one in filters)]

    wanted_ids = attempt(place, lambda index: index.ids())
    wanted = attempt(place, ask)
    noticed = 0
    for position in range(100, len(whole), 41):
        if whole[position] == 0:
            continue
        flip(file, position, position % 8)
        answer = attempt(place, ask)
        assert answer == wanted or isinstance(answer, FormatError | StorageError), f"byte {position}"
        noticed += answer != wanted
        for stray in place.glob("catalogue.sqlite-*"):
            stray.unlink()
        file.write_bytes(whole)
    assert noticed > 20


@pytest.mark.parametrize("table", ["documents", "buffer", "segments", "words", "tombstones", "meta"])
def test_changed_rows_are_found(place: Path, table: str) -> None:
    """Every column of a row of every table, changed behind the back of the index, fails verify."""
    file = place / "catalogue.sqlite"
    whole = file.read_bytes()
    with sqlite3.connect(file) as connection:
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    for column in columns:
        with sqlite3.connect(file) as connection:
            connection.execute(
                f"UPDATE {table} SET {column} = CASE typeof({column}) WHEN 'integer' THEN {column} + 1000003 "
                f"WHEN 'blob' THEN zeroblob(length({column})) WHEN 'null' THEN 7 ELSE {column} || 'x' END "
                f"WHERE rowid = (SELECT rowid FROM {table} ORDER BY rowid DESC LIMIT 1)"
            )
        connection.close()
        with pytest.raises(FormatError, match=r"catalogue|Segment|segments"), Index.open(place) as index:
            index.verify()
        file.write_bytes(whole)
    with sqlite3.connect(file) as connection:
        connection.execute(f"DELETE FROM {table} WHERE rowid = (SELECT rowid FROM {table} ORDER BY rowid LIMIT 1)")
    connection.close()
    with pytest.raises(FormatError), Index.open(place) as index:
        index.verify()


def test_lost_segments_are_made_again(place: Path) -> None:
    with Index.open(place) as index:
        wanted = index.similar(QUERY, k=10)
    for segment in files_of(place, "segments/*"):
        shutil.rmtree(segment)
    with Index.open(place) as index:
        assert index.similar(QUERY, k=10) == wanted
        index.verify()


def test_a_lost_graph_is_built_again(place: Path) -> None:
    with Index.open(place) as index:
        wanted = index.similar(QUERY, k=10)
    for graph in files_of(place, "graph/*"):
        shutil.rmtree(graph)
    with Index.open(place) as index:
        found = index.similar(QUERY, k=10)
        assert [hit.id for hit in found] == [hit.id for hit in wanted]
        index.compact(rebuild=True)
        index.verify()


def test_a_graph_that_goes_while_it_is_read_is_built_again(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A writer may remove a folder after a reader found its files and before it compares them with their checksums."""
    with Index.open(place) as index:
        wanted = index.similar(QUERY, k=10)
    digest = storage.file_digest

    def removed_meanwhile(file: Path) -> str:
        if file.parent.parent.name == "graph" and file.name != storage.MANIFEST:
            file.unlink()
        return digest(file)

    monkeypatch.setattr(storage, "file_digest", removed_meanwhile)
    with Index.open(place) as index:
        found = index.similar(QUERY, k=10)
    assert [(hit.id, hit.distance) for hit in found] == [(hit.id, hit.distance) for hit in wanted]
    assert "is missing. The related words are built again." in caplog.text


def test_damaged_segments_and_graph_are_made_again_on_demand(place: Path) -> None:
    with Index.open(place) as index:
        texts = {doc.id: doc.text for doc in index}
    for file in [*files_of(place, "segments/*/*.npy"), *files_of(place, "graph/*/*.npy")]:
        flip(file, file.stat().st_size - 1)
    with pytest.raises(FormatError, match="compact --rebuild"), Index.open(place) as index:
        index.similar(QUERY)
    with Index.open(place) as index:
        index.compact(rebuild=True)
        index.verify()
        assert {doc.id: doc.text for doc in index} == texts
        assert_equals_brute_force(index, [QUERY])


def test_a_newer_format_explains_itself(place: Path) -> None:
    with sqlite3.connect(place / "catalogue.sqlite") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(FormatError, match="format 99; this version of wordferry reads format 4"):
        Index.open(place)


def test_not_an_index(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"has no catalogue\.sqlite"):
        Index.open(tmp_path)
    (tmp_path / "catalogue.sqlite").write_bytes(b"")
    with pytest.raises(FormatError, match="not the catalogue of a wordferry index"):
        Index.open(tmp_path)
    (tmp_path / "catalogue.sqlite").write_text("something else entirely, and long enough to be looked at" * 50)
    with pytest.raises(FormatError, match=r"catalogue\.sqlite is damaged"):
        Index.open(tmp_path)


def mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"this user may not mount file systems: {done.stderr.strip()}")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1.5 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount("-t", "tmpfs", "-o", "size=1536k", "wordferry-test", str(disk))
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_full_disk(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Adding until the disk is full: a clear error, nothing of the call stored, and all else as before."""
    monkeypatch.setattr("wordferry.index.write.segment_writer.BUFFER", 40)
    index = Index.create(small_disk / "index", embeddings=embeddings(), related=4)
    stored = 0
    with pytest.raises(StorageError, match="the disk is full") as caught:  # noqa: PT012
        for batch in range(10_000):
            docs = documents(7 + batch % 60, seed=batch, length=40)
            index.add([{**doc, "id": f"{batch}-{i}"} for i, doc in enumerate(docs)])
            stored += len(docs)
    assert mentions(caught.value, str(small_disk / "index"))
    assert len(index) == stored > 100
    index.verify()
    assert_equals_brute_force(index, [QUERY])
    index.close()
    with Index.open(small_disk / "index") as index:
        assert len(index) == stored
        index.verify()
        assert_equals_brute_force(index, [QUERY])


def test_documents_are_stored_when_only_the_graph_finds_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_room(*_: object) -> None:
        raise StorageError("no room")

    with Index.create(tmp_path / "index", embeddings=embeddings(), related=4) as index:
        monkeypatch.setattr("wordferry.index.storage.graph.Graphs.save", no_room)
        assert len(index.add(documents(20))) == 20
        assert "in memory only: no room" in caplog.text
        assert_equals_brute_force(index, [QUERY])
    with Index.open(tmp_path / "index") as index:
        assert index.stats().graph_words == 0
        assert_equals_brute_force(index, [QUERY])
        index.verify()


def test_create_on_a_full_disk_leaves_nothing(small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(bytes(1_500_000))
    with pytest.raises(StorageError, match="the disk is full"):
        Index.create(small_disk / "index", embeddings=embeddings(dimensions=300))
    assert [path.name for path in small_disk.iterdir()] == ["filler"]


@pytest.fixture
def read_only(place: Path) -> Iterator[Path]:
    """The index on a file system mounted read-only, which binds root too."""
    mount("--bind", str(place), str(place))
    mount("-o", "remount,ro,bind", str(place))
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_read_only_folder(sound: Path, read_only: Path) -> None:
    with Index.open(sound) as index:
        wanted = index.similar(QUERY, k=5)
    with Index.open(read_only) as index:
        assert index.similar(QUERY, k=5) == wanted
        assert len(list(index)) == len(index)
        index.verify()
        for change in (lambda: index.add(["w01"]), lambda: index.delete(["d1"]), index.compact):
            with pytest.raises(StorageError, match="cannot be written") as caught:
                change()
            assert mentions(caught.value, str(read_only))


def test_read_only_folder_with_a_log_left_behind(place: Path, tmp_path: Path) -> None:
    """Acknowledged documents in the log of a killed writer are served, or refused in words; never left out."""
    writer = Index.open(place)
    writer.add([{"id": "late", "text": "w01 w02"}])
    crashed = tmp_path / "crashed"
    shutil.copytree(place, crashed)
    writer.close()
    (crashed / "catalogue.sqlite-shm").unlink()
    assert (crashed / "catalogue.sqlite-wal").stat().st_size > 0
    mount("--bind", str(crashed), str(crashed))
    mount("-o", "remount,ro,bind", str(crashed))
    try:
        answer = attempt(crashed, lambda index: "late" in index)
        assert answer is True or mentions(answer, "changes in catalogue.sqlite-wal")
    finally:
        subprocess.run(["umount", "-l", str(crashed)], check=True)
    with Index.open(crashed) as index:
        assert "late" in index
        index.verify()


def test_file_size_limit_is_reported(place: Path) -> None:
    """A write that the system refuses half-way: in a process of its own, because the limit is the process's."""
    code = (
        "import resource, signal, sys\n"
        "from wordferry.errors import StorageError\n"
        "from wordferry.index import Index\n"
        "index = Index.open(sys.argv[1])\n"
        "count = len(index)\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))\n"
        "try:\n"
        "    index.add([f'w{i % 60:02d} w{i % 59:02d} w{i % 7:02d}' for i in range(5000)])\n"
        "except StorageError as error:\n"
        "    print('refused:', error)\n"
        "assert len(index) == count\n"
    )
    environment = dict(os.environ, PYTHONPATH=os.environ.get("PYTHONPATH", ""))
    done = subprocess.run([sys.executable, "-c", code, str(place)], capture_output=True, text=True, env=environment)
    assert "refused:" in done.stdout, done.stdout + done.stderr
    assert str(place) in done.stdout
    with Index.open(place) as index:
        index.verify()

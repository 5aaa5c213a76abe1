"""A reader who may not write, beside a writer who works: in a process of another user, because root may all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.index.collection import documents, embeddings
from tests.index.other_user import Ask, other_user
from wordferry.index import Index
from wordferry.index.write import segment_writer as publish

pytestmark = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may become another user"
)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that others may enter and read (those of pytest are closed to them)."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder) / "index"


@pytest.fixture
def ask() -> Iterator[Ask]:
    with other_user() as put:
        yield put


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

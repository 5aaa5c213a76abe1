"""An index that is replaced while it is open: the old one, whole, or an error that says so; never a mixture."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import wordferry
from tests.index.collection import documents
from wordferry.errors import ReplacedError
from wordferry.index import Index

Make = Callable[..., Index]
OLD = [{"id": f"d{i}", "text": "w01 w02"} for i in range(5)]
NEW = [{"id": f"d{i}", "text": "w40 w41 w42"} for i in range(5)]


def replace(path: Path, emb: wordferry.Embeddings, docs: list[dict[str, str]]) -> None:
    with Index.create(path, embeddings=emb, related=4, overwrite=True) as index:
        index.add(docs)


def test_every_index_has_an_identity(make: Make, tmp_path: Path) -> None:
    first, second = make("a"), make("b")
    assert first.identity != second.identity
    first.close()
    with Index.open(tmp_path / "a") as again:
        assert again.identity == first.identity


def test_a_reader_of_a_replaced_index_is_told(make: Make, tmp_path: Path, emb: wordferry.Embeddings) -> None:
    """Both indexes are in the same generation, with the same ids: only their identity tells them apart."""
    make().add(OLD)
    reader = Index.open(tmp_path / "index")
    assert reader.similar("w01", k=1)[0].text == "w01 w02"
    held = iter(reader)
    next(held)
    reader_two = Index.open(tmp_path / "index")  # opened, never searched: it has no snapshot of its own yet
    _close_writers(make)
    replace(tmp_path / "index", emb, NEW)
    assert [doc.text for doc in held] == ["w01 w02"] * 4  # what had begun goes on with the old one
    for one in (reader, reader_two):
        for call in (
            lambda index: index.similar("w01 w40", k=5),
            lambda index: index.get("d1"),
            len,
            lambda index: index.add(["w01"]),
            lambda index: index.verify(),
        ):
            with pytest.raises(ReplacedError, match=r"was replaced, .* Open it again"):
                call(one)
        one.close()
    with Index.open(tmp_path / "index") as index:
        assert {hit.text for hit in index.similar("w01", k=5)} == {"w40 w41 w42"}


def _close_writers(make: Make) -> None:
    """Close what the fixture has made, so that the index may be overwritten."""
    for index in make.made:  # type: ignore[attr-defined]
        index.close()


def test_a_folder_that_went_away_is_named(make: Make, tmp_path: Path) -> None:
    make().add(OLD)
    _close_writers(make)
    with Index.open(tmp_path / "index") as reader:
        shutil.rmtree(tmp_path / "index")
        with pytest.raises(ReplacedError, match="replaced, moved or removed"):
            reader.similar("w01")


def test_a_lock_on_a_replaced_folder_protects_nothing(make: Make, tmp_path: Path, emb: wordferry.Embeddings) -> None:
    """Who takes the lock of a folder that is no longer there must not write into the one that is."""
    make().add(OLD)
    _close_writers(make)
    stale = Index.open(tmp_path / "index")
    replace(tmp_path / "index", emb, NEW)
    with pytest.raises(ReplacedError):
        stale.add(documents(1))
    with Index.open(tmp_path / "index") as index:
        index.add(["w05"])  # and the failed attempt holds no lock
    stale.close()

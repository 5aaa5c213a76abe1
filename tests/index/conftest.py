"""Fixtures of the index tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import wordferry
from tests.index import collection
from wordferry.index import Index


@pytest.fixture(scope="session")
def emb() -> wordferry.Embeddings:
    return collection.embeddings()


@pytest.fixture
def make(tmp_path: Path, emb: wordferry.Embeddings) -> Iterator[Callable[..., Index]]:
    """Makes indexes in a temporary folder and closes them; by rel-rwmd over plain counts unless told otherwise."""
    made: list[Index] = []

    def build(name: str = "index", **options: Any) -> Index:
        given = {"embeddings": emb, "related": 4, "distance": "rel-rwmd", **collection.PLAIN, **options}
        made.append(Index.create(tmp_path / name, **given))
        return made[-1]

    build.made = made  # type: ignore[attr-defined]
    yield build
    for index in made:
        index.close()

"""Other vectors for the words of an index: as if it had been made with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import wordferry
from tests.index.collection import WORDS, documents, embeddings
from wordferry.errors import ReplacedError
from wordferry.index import Index

Make = Callable[..., Index]
DISTANCES = ["rel-rwmd", "wmd", "wcd", "cosine", "bow-l1"]


def fewer() -> wordferry.Embeddings:
    """Vectors for forty of the sixty words, in another order, and for two that had none."""
    names = [*reversed(WORDS[10:50]), "unheard", "of"]
    return wordferry.Embeddings(names, np.random.default_rng(9).normal(size=(len(names), 6)))


@pytest.mark.parametrize("weights", ["counts", "idf", "bm25"])
def test_an_index_is_as_if_it_had_been_made_with_the_vectors(make: Make, weights: str) -> None:
    docs = [{**one, "text": f"{one['text']} unheard of x{number}"} for number, one in enumerate(documents(80))]
    first = make("first", weights=weights, unknown="match")
    second = make("second", embeddings=fewer(), weights=weights, unknown="match")
    for index in (first, second):
        index.add(docs)
        index.delete(["d3", "d17"])
    first.revector(fewer())
    assert first.verify().documents == 78
    assert first.stats().coverage == second.stats().coverage
    for distance in DISTANCES:
        a, b = (index.similar(docs[5]["text"] + " x9", 20, distance=distance) for index in (first, second))
        assert [hit.id for hit in a] == [hit.id for hit in b]
        assert [hit.distance for hit in a] == pytest.approx([hit.distance for hit in b], rel=1e-6)
    assert [hit.id for hit in first.search("w12 unheard")] == [hit.id for hit in second.search("w12 unheard")]
    first.add([{"id": "new", "text": "w11 unheard brandnew"}])
    assert first.similar("brandnew", 1)[0].id == "new"


def test_the_vectors_stay_and_who_has_the_index_open_is_told(make: Make, tmp_path: Path) -> None:
    index = make()
    index.add(documents(10))
    with Index.open(index.path) as reader:
        reader.similar("w01 w02")
        index.revector(fewer())
        with pytest.raises(ReplacedError, match="replaced after it was opened"):
            reader.similar("w11 w12")
    index.close()
    with Index.open(index.path) as again:
        assert again.embeddings.vocabulary == fewer().vocabulary
        assert len([one for one in again.path.iterdir() if one.name.startswith("embeddings")]) == 1
        again.revector(embeddings())
        assert again.embeddings.vocabulary == embeddings().vocabulary

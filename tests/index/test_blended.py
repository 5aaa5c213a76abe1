"""Sums of shares of rel-rwmd and cosine through posting lists: what comparing with every document gives, bit by bit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.index.collection import WORDS, embeddings
from wordferry import Index
from wordferry.errors import InputError
from wordferry.index.search import lists, memory, similar
from wordferry.index.search.views import Request
from wordferry.texts.bow import looked_up

NAMES = [f"name{i}" for i in range(40)]
QUERIES = ["w01 w02 w03", "w05 name3 name3 w11 w40", "name7", "w59 " * 5 + "w00", "unheard w07"]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """More documents than are all compared, of several lengths, some of them twice, some deleted, some waiting."""
    rng = np.random.default_rng(4)
    words = [*WORDS, *NAMES]
    texts = [" ".join(words[i] for i in rng.integers(0, len(words), rng.integers(1, 30))) for _ in range(1900)]
    texts += [*texts[:40], *QUERIES, "of the"]
    folder: Path = tmp_path_factory.mktemp("blended")
    with Index.create(folder / "index", embeddings=embeddings(), related=6) as made:
        made.add([{"id": str(i), "text": text} for i, text in enumerate(texts)])
        made.delete([str(i) for i in range(100, 130)])
        made.add([{"id": f"late{i}", "text": f"w0{i} name{i} w1{i}"} for i in range(9)])
        yield made


@pytest.mark.parametrize("distance", ["rel-rwmd + 2*cosine", "0.25*cosine + rel-rwmd", "3*rel-rwmd + 0.1*cosine"])
@pytest.mark.parametrize("weights", ["idf", "counts", "bm25"])
@pytest.mark.parametrize("unknown", ["match", "drop"])
def test_every_bit_is_that_of_comparing_with_all(index: Index, distance: str, weights: str, unknown: str) -> None:
    measure, backend = index.measure(distance, weights, unknown), index.backend
    queries = [*QUERIES, index.get("7").text, index.get("1900").text]
    with backend.state() as (connection, snapshot):  # type: ignore[attr-defined]
        view = backend.views.get(snapshot, measure)  # type: ignore[attr-defined]
        asked = [
            view.words(connection, looked_up(index.tokenizer(text), index.embeddings.vocabulary)) for text in queries
        ]
        some = np.random.default_rng(1).random(len(snapshot.numbers)) < 0.7
        for mask in (snapshot.alive, snapshot.alive & some):
            for k in (1, 10, 300):
                request = Request(measure.distance, measure.overlap, k, mask, 1)
                found, wanted = (find(view, asked, request) for find in (similar.nearest, memory.scan))
                assert np.array_equal(found.indices, wanted.indices)
                assert np.array_equal(found.distances.view(np.int32), wanted.distances.view(np.int32))
        assert view.kept(None, ("strategy", measure.distance, measure.overlap), list)[0] is lists.nearest


def test_most_documents_are_never_compared(index: Index) -> None:
    hits = index.similar("w05 name3 w11 w40", 5)
    assert index.config.distance == "rel-rwmd + 2*cosine"
    assert hits.exact
    assert hits.counts["evaluated"] < 300 < hits.counts["pairs"]


def test_an_explanation_says_what_shared_words_and_what_moves_cost(index: Index) -> None:
    hit = index.similar("w05 name3 w11 w40", 3)[1]
    rows = hit.explain().to_rows()
    assert sum(row["cost"] for row in rows) == pytest.approx(hit.distance, rel=1e-5)
    assert len({row["kind"] for row in rows}) > 1


def test_the_default_threshold_belongs_to_the_default_distance(index: Index) -> None:
    found = index.duplicates()
    assert found.threshold == 0.6
    assert {("0", "1900"), ("39", "1939")} <= {(pair.first, pair.second) for pair in found.copies}
    with pytest.raises(InputError, match="no default threshold for wmd"):
        index.duplicates(distance="wmd")
    leaked = index.leakage([{"id": "x", "text": index.get("5").text}])
    assert leaked.threshold == 0.6
    assert ("5", "x") in {(pair.first, pair.second) for pair in leaked}

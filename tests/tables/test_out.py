"""Results as tables of other libraries."""

from __future__ import annotations

import numpy as np
import pytest

import wordferry
from wordferry.base.arrays import Neighbors
from wordferry.base.frames import columns_of
from wordferry.errors import MissingDependency
from wordferry.index import Index
from wordferry.index.results import Hits

arrow = pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with Index.create(tmp_path_factory.mktemp("tables") / "index") as index:
        index.add(
            [
                {"id": "a", "text": "the president greets the press", "year": 2001, "topic": "news", "score": 1},
                {"id": "b", "tokens": ["president", "greets", "press"], "year": "unknown"},
                {"id": "c", "text": "a band gave a concert in Japan", "label": "music", "rank": 7},
            ]
        )
        yield index


def _same(result, names):
    """All the ways out give the same columns."""
    columns = result.to_columns()
    assert list(columns) == names
    for table in (
        result.to_pandas(),
        result.to_polars(),
        result.to_arrow().to_pandas(),
        arrow.RecordBatchReader.from_stream(result).read_all().to_pandas(),
    ):
        assert list(table.columns) == names
        for name in names:
            found = [None if value != value else value for value in table[name]]
            assert found == [None if value != value else value for value in columns[name]], name
    return columns


def test_hits(index):
    hits = index.similar("a president and the press", k=3)
    columns = _same(hits, ["rank", "id", "distance", "label", "text", "year", "topic", "score", "metadata_rank"])
    assert columns["id"] == [hit.id for hit in hits]
    assert columns["distance"] == [hit.distance for hit in hits]
    assert "president greets press" in columns["text"]
    assert set(columns["year"]) == {"2001", "unknown", None}
    assert set(columns["metadata_rank"]) == {7, None}
    assert list(Hits().to_columns()) == ["rank", "id", "distance", "label", "text"]


def test_neighbours():
    found = wordferry.top_k(["a cat sleeps"], ["a dog rests", "the stock market fell"], 2)
    columns = _same(found, ["query", "rank", "index", "distance"])
    assert columns["index"].tolist() == found.indices[0].tolist()
    gap = Neighbors(np.array([[3, -1], [-1, -1], [2, 1]]), np.array([[1, np.inf], [np.inf] * 2, [0, 2]], np.float32))
    assert gap.to_columns()["query"].tolist() == [0, 2, 2]
    assert gap.to_columns()["rank"].tolist() == [1, 1, 2]


def test_duplicates(index):
    pairs = index.duplicates(10.0)
    assert len(_same(pairs, ["first", "second", "distance", "exact", "opposite"])["first"]) == len(pairs) == 3


def test_explanations():
    explanation = wordferry.explain("Obama speaks to the media", "The president greets the press")
    columns = _same(explanation, ["from", "to", "mass", "distance", "cost", "share", "kind"])
    assert sum(columns["cost"]) == pytest.approx(explanation.distance)


def test_columns_are_of_one_kind():
    rows = [{"a": 1, "b": True, "c": [1, 2]}, {"a": 2.5, "b": 1, "c": ["x"]}, {"a": None, "d": "y"}]
    assert columns_of(rows) == {
        "a": [1, 2.5, None],
        "b": ["true", "1", None],
        "c": ["[1, 2]", '["x"]', None],
        "d": [None, None, "y"],
    }
    assert columns_of([], ("a", "b")) == {"a": [], "b": []}


def test_a_missing_library_is_named(monkeypatch):
    def missing(name):
        raise ImportError(name)

    found = wordferry.top_k(["a cat sleeps"], ["a dog rests"], 1)
    monkeypatch.setattr("importlib.import_module", missing)
    for method, extra in ((found.to_pandas, "pandas"), (found.to_polars, "polars"), (found.to_arrow, "parquet")):
        with pytest.raises(MissingDependency, match=rf"wordferry\[{extra}\]"):
            method()

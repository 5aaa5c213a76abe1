"""Many queries to an index, and to its shards, compared on the device."""

from __future__ import annotations

from typing import Any

import pytest

import wordferry
from wordferry.shards import jobs

ARTICLES = 90


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Articles, of which some come twice; some are gone, and one has no words."""
    articles = wordferry.sample().articles[:ARTICLES]
    with wordferry.Index.create(tmp_path_factory.mktemp("index") / "articles") as made:
        made.add({"id": one.id, "text": one.text[:400]} for one in articles)
        made.add([{"id": f"again {n}", "text": one.text[:400]} for n, one in enumerate(articles[:9])])
        made.add([{"id": "nothing", "text": ""}], on_empty="keep")
        made.delete([articles[3].id, articles[50].id])
        yield made


@pytest.mark.parametrize("distance", [None, "rel-rwmd", "rwmd", "wmd", "act", "tfidf-cosine"])
def test_batches_have_the_hits_of_the_cpu(
    device: Any, index: Any, monkeypatch: pytest.MonkeyPatch, distance: str | None
) -> None:
    texts = [one.text[200:500] for one in wordferry.sample().articles[:40]]
    expected = index.similar(texts, 5, distance=distance)
    monkeypatch.setenv("WORDFERRY_DEVICE", "cuda")
    launched = getattr(device, "launches", [])
    alone = index.similar(texts[0], 5, distance="rel-rwmd")
    assert not launched  # one query has the lists
    found = index.similar(texts, 5, distance=distance)
    assert launched or not hasattr(device, "launches")
    for some, others in zip(found, expected, strict=True):
        assert [hit.id for hit in some] == [hit.id for hit in others]
        assert [hit.distance for hit in some] == pytest.approx([hit.distance for hit in others], abs=1e-5)
    assert len(alone) == 5


def test_distances_without_a_method_are_those_of_the_lists(
    device: Any, index: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [one.text[200:500] for one in wordferry.sample().articles[:40]]
    expected = index.similar(texts, 3, distance="bow-l1")
    monkeypatch.setenv("WORDFERRY_DEVICE", "cuda")
    found = index.similar(texts, 3, distance="bow-l1")
    assert [[hit.id for hit in hits] for hits in found] == [[hit.id for hit in hits] for hits in expected]
    assert not getattr(device, "launches", [])


def test_a_graph_of_shards_on_the_device(
    device: Any, index: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers are told where to compute by the job."""
    parquet = pytest.importorskip(
        "pyarrow.parquet", reason="pyarrow is not installed (pip install 'wordferry[cluster]')"
    )

    def graph(name: str) -> Any:
        jobs.knn_graph(str(index.path), tmp_path / name, 4)
        return parquet.read_table(tmp_path / name).to_pydict()

    expected = graph("cpu")
    assert not getattr(device, "launches", [])
    monkeypatch.setenv("WORDFERRY_DEVICE", "cuda")
    found = graph("cuda")
    assert getattr(device, "launches", ["any"])
    assert found["neighbors"] == expected["neighbors"]

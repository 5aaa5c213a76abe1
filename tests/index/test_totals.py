"""Indexes that hold a part of a collection each, with the counts of all of it: the values of the undivided one."""

from __future__ import annotations

import numpy as np
import pytest

import wordferry
from wordferry.base import storage
from wordferry.errors import FormatError, InputError
from wordferry.index.search.statistics import Totals, stem_counts
from wordferry.words.related.graph import RelatedWords

ARTICLES = wordferry.sample().articles[:120]
DOCUMENTS = [
    {"id": one.id, "text": one.text, "label": one.label, "metadata": {"long": len(one.text) > 1200}} for one in ARTICLES
]
DOCUMENTS[70]["metadata"]["rare"] = 1
QUERIES = ["the cost of heating and the price of bread", "planets and their moons", "zzyzx football heated qwertzuiop"]


def others_of(index) -> list[str]:
    with index.backend.state() as (connection, _):
        return [word for (word,) in connection.execute("SELECT word FROM others ORDER BY number")]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    with wordferry.Index.create(tmp_path_factory.mktemp("totals") / "whole") as index:
        index.add(DOCUMENTS)
        yield index


@pytest.fixture(scope="module")
def halves(whole, tmp_path_factory):
    """Two indexes with the words, the graph and the counts of the whole one."""
    folder = tmp_path_factory.mktemp("totals")
    with whole.view() as (connection, snapshot):
        graph = whole.engine.graph(snapshot)
        bags = snapshot.live_bags()
        collection = whole.words.collection(connection, snapshot)
        totals = Totals(
            documents=len(bags),
            tokens=collection.tokens,
            known_tokens=int(bags.counts.sum()),
            frequencies=np.bincount(bags.words, minlength=len(whole.embeddings)),
            other_frequencies=np.bincount(bags.others.words, minlength=snapshot.state["others"]),
            stems=stem_counts(collection)[1],
            stem_keys=stem_counts(collection)[0],
            fields=frozenset({"long", "rare"}),
        )
    totals.save(folder / "totals")
    graph.save(folder / "related")
    indexes = []
    for number, some in enumerate((DOCUMENTS[:50], DOCUMENTS[50:])):
        with wordferry.Index.create(folder / str(number), related=RelatedWords.load(folder / "related")) as index:
            index.number_others(others_of(whole))
            index.add(some)
            index.verify()
        indexes.append(wordferry.Index.open(folder / str(number), totals=Totals.load(folder / "totals")))
    yield indexes
    for index in indexes:
        index.close()


def merged(lists, k):
    """Hits of all halves by (distance, place): each half is in the order of its documents."""
    return sorted((hit for hits in lists for hit in hits), key=lambda hit: hit.distance)[:k]


@pytest.mark.parametrize("weights", ["counts", "idf", "log-idf", "bm25"])
@pytest.mark.parametrize("unknown", ["match", "drop"])
def test_the_values_are_those_of_the_undivided_index_bit_by_bit(whole, halves, weights, unknown):
    options = {"weights": weights, "unknown": unknown}
    expected = whole.similar(QUERIES, 110, **options)
    found = [half.similar(QUERIES, 110, **options) for half in halves]
    for number, hits in enumerate(expected):
        joined = merged([some[number] for some in found], 110)
        assert [(hit.id, hit.distance) for hit in joined] == [(hit.id, hit.distance) for hit in hits]


@pytest.mark.parametrize("distance", ["rel-wmd", "bow-l1", "tfidf-l1", "tfidf-cosine", "rwmd", "wmd", "wcd", "cosine"])
def test_other_distances(whole, halves, distance):
    expected = whole.similar(QUERIES[:2], 10, distance=distance)
    found = [half.similar(QUERIES[:2], 10, distance=distance) for half in halves]
    for number, hits in enumerate(expected):
        joined = merged([some[number] for some in found], 10)
        assert [hit.id for hit in joined] == [hit.id for hit in hits]
        assert [hit.distance for hit in joined] == [hit.distance for hit in hits]


def test_scores_by_own_words(whole, halves):
    expected = whole.search(QUERIES, 30, lift=0)
    found = [half.search(QUERIES, 30, lift=0) for half in halves]
    for number, hits in enumerate(expected):
        joined = sorted((hit for some in found for hit in some[number]), key=lambda hit: -hit.score)[:30]
        assert [(hit.id, hit.score) for hit in joined] == [(hit.id, hit.score) for hit in hits]


def test_a_field_of_another_half_may_be_filtered_by(halves):
    assert len(halves[0].similar("bread", 50, filter={"rare": {"exists": False}})) == 50
    with pytest.raises(InputError, match="no document has a field 'never'"):
        halves[0].similar("bread", filter={"never": 1})


def test_counts_of_stems_of_an_earlier_version_are_refused(tmp_path):
    """They were numbered by each index for itself; now they have keys."""
    none = np.zeros(0, dtype=np.int64)
    totals = Totals(0, 0, 0, none, none, none, np.zeros(0, dtype=np.uint64))
    totals.save(tmp_path / "right")
    assert Totals.load(tmp_path / "right").documents == 0
    arrays = {"frequencies": none, "other_frequencies": none, "stems": none}
    config = {"documents": 0, "tokens": 0, "known_tokens": 0, "fields": []}
    storage.write_folder(tmp_path / "old", "shard totals", config, arrays)
    with pytest.raises(FormatError, match="Build the shards again"):
        Totals.load(tmp_path / "old")

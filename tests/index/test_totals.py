"""Indexes that hold a part of a collection each, with the counts of all of it: the values of the undivided one."""

from __future__ import annotations

import numpy as np
import pytest

import wordferry
from wordferry.base.arrays import Counts
from wordferry.errors import InputError
from wordferry.index import Index
from wordferry.index.local import LocalIndex
from wordferry.index.search.words import CollectionStatistics
from wordferry.words.related.graph import RelatedWords

ARTICLES = wordferry.sample().articles[:120]
DOCUMENTS = [
    {"id": one.id, "text": one.text, "label": one.label, "metadata": {"long": len(one.text) > 1200}} for one in ARTICLES
]
DOCUMENTS[70]["metadata"]["rare"] = 1
QUERIES = ["the cost of heating and the price of bread", "planets and their moons", "zzyzx football heated qwertzuiop"]


def words_of(index):
    """Numbers and words, those of a graph first, as an index that is made with one numbers them."""
    with index.backend.state() as (connection, _):
        return connection.execute("SELECT number, word FROM words ORDER BY vector IS NULL, number").fetchall()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    with Index.create(tmp_path_factory.mktemp("statistics") / "whole") as index:
        index.add(DOCUMENTS)
        yield index


@pytest.fixture(scope="module")
def halves(whole, tmp_path_factory):
    """Two indexes with the words, the graph and the counts of the whole one."""
    folder = tmp_path_factory.mktemp("statistics")
    local = whole.backend
    with local.state() as state:
        snapshot = state.snapshot
        bags = Counts.join([part.bags.rows for part in snapshot.parts])
        ranker, forms = local.words.ranker(state)
        ascending = np.argsort(forms.stem_keys)
        statistics = CollectionStatistics(
            documents=snapshot.documents,
            tokens=ranker.tokens,
            known_tokens=int(bags.counts[snapshot.terms.row_of[bags.words] >= 0].sum()),
            frequencies=np.bincount(bags.words, minlength=snapshot.terms.size)[[n for n, _ in words_of(whole)]],
            df=ranker.df[ascending],
            stem_keys=forms.stem_keys[ascending],
            fields=frozenset({"long", "rare"}),
        )
    statistics.save(folder / "statistics")
    whole.related.save(folder / "related")
    indexes = []
    for number, some in enumerate((DOCUMENTS[:50], DOCUMENTS[50:])):
        with Index.create(folder / str(number), related=RelatedWords.load(folder / "related")) as index:
            with index.backend.writing() as writer:
                writer.number_words(word for _, word in words_of(whole))
            index.add(some)
            index.verify()
            assert words_of(index) == list(enumerate(word for _, word in words_of(whole)))
        together = CollectionStatistics.load(folder / "statistics")
        indexes.append(Index(LocalIndex(folder / str(number), together=together)))
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

"""Close pairs through shared rare words: the same pairs as by comparing all documents with each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordferry
from wordferry.base.runtime import Run
from wordferry.compare.joining import Join, close_pairs, joined
from wordferry.compare.measure import Measure
from wordferry.compare.nearest import loosened, within

VECTORS = np.random.default_rng(3).normal(size=(40, 6)).astype(np.float32)
WORDS = wordferry.Embeddings([f"w{i:02d}" for i in range(40)], VECTORS)
THRESHOLDS = (0.0, 0.05, 0.2, 0.4, 0.7, 1.2)


def found(blocks):
    return {
        (int(i), int(j)): float(d)
        for block in blocks
        for i, j, d in zip(*(column.tolist() for column in block), strict=True)
    }


def both(documents, distance, overlap, threshold, weights="counts", unknown="match"):
    """The pairs of the join and of the comparison of everything."""
    options = {"overlap": overlap, "embeddings": WORDS, "weights": weights, "unknown": unknown, "on_empty": "keep"}
    whole = Measure(distance, **options).problem(documents, run=Run(threads=1))
    join = Join.of(whole.y.masses, whole.distance.least_moves(whole), loosened(threshold))
    return (
        found(joined(whole, join, threshold)),
        found(within(whole, threshold, rising=True)),
        join,
    )


def check(joined, every, threshold):
    """The same values, and the same pairs but for those that lie on the threshold to the last digit."""
    for pair in joined.keys() & every.keys():
        assert joined[pair] == pytest.approx(every[pair], abs=2e-6)
    for pair in joined.keys() ^ every.keys():
        assert (joined | every)[pair] == pytest.approx(threshold, abs=2e-6)


words = st.sampled_from([f"w{i:02d}" for i in range(40)] + ["unheard", "unknown"])
texts = st.lists(st.lists(words, max_size=7), min_size=2, max_size=14)


@settings(max_examples=60, deadline=None)
@given(
    texts,
    st.sampled_from([("rel-rwmd", "omr"), ("rel-rwmd", "residual"), ("rel-wmd", "residual")]),
    st.sampled_from(THRESHOLDS),
    st.sampled_from(["counts", "idf"]),
    st.sampled_from(["match", "drop"]),
)
def test_a_join_finds_what_comparing_everything_finds(documents, kind, threshold, weights, unknown):
    joined, every, _ = both([*documents, documents[0]], *kind, threshold, weights, unknown)
    check(joined, every, threshold)


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.6])
def test_the_sample_has_the_same_pairs(threshold):
    articles = [str(article.text) for article in wordferry.sample().articles]
    whole = Measure("rel-rwmd", weights="idf").problem(articles, run=Run(threads=1))
    near = found(close_pairs(whole, threshold))
    every = found(within(whole, threshold, rising=True))
    assert threshold == 0.05 or near
    check(near, every, threshold)


@pytest.mark.parametrize("distance", ["rwmd", "wmd"])
def test_pairs_of_many_blocks_are_those_above_the_diagonal(distance):
    rng = np.random.default_rng(5)
    documents = [[f"w{k:02d}" for k in rng.integers(0, 40, 2)] for _ in range(800)]
    whole = Measure(distance, embeddings=WORDS).problem(documents, run=Run(threads=1, memory=1 << 20))
    full = wordferry.pairwise(documents, distance=distance, embeddings=WORDS)
    i, j = np.nonzero(np.triu(full <= 1.5, 1))
    assert len(i) > 800
    blocks = list(within(whole, 1.5, rising=True))
    assert len(blocks) > 3
    assert found(blocks).keys() == set(zip(i.tolist(), j.tolist(), strict=True))


def test_documents_that_share_nothing_are_found_where_the_threshold_allows_it():
    documents = [["w01"], ["w02"], ["w03", "w04"], [], []]
    joined, every, join = both(documents, "rel-rwmd", "omr", 2.0)
    assert len(join.loose) == 5
    assert (0, 1) in joined
    assert joined[3, 4] == 0
    check(joined, every, 2.0)


def test_a_join_is_taken_only_where_it_is_less_work():
    rng = np.random.default_rng(0)
    rare = [[f"w{i % 40:02d}"] for i in range(40)] + [["w01", "w02"]]
    common = [[f"w{k:02d}" for k in rng.integers(0, 4, 6)] for _ in range(200)]
    assert both(rare, "rel-rwmd", "omr", 0.1)[2].pays
    assert not both(common, "rel-rwmd", "omr", 0.1)[2].pays


def test_where_words_may_stay_for_nothing_there_is_no_join():
    whole = Measure("rel-rwmd", overlap="keep", embeddings=WORDS).problem([["w01"], ["w02"]])
    assert whole.distance.least_moves(whole) is None
    for name in ("wmd", "rwmd", "wcd", "cosine"):
        whole = Measure(name, embeddings=WORDS).problem([["w01"], ["w02"]])
        assert whole.distance.least_moves(whole) is None


@pytest.mark.parametrize("distance", ["wmd", "rel-wmd", "rwmd"])
def test_a_collection_without_close_pairs_has_none(tmp_path, distance):
    with wordferry.Index.create(tmp_path / "unlike") as index:
        index.add(["the cat sleeps", "stock prices fell", "a violin concerto"])
        assert index.duplicates(0.01, distance=distance) == []

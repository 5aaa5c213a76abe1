"""A prepared side: what it holds, what its parts share, and that nothing is derived from it twice."""

from __future__ import annotations

import tracemalloc
from functools import cached_property

import numpy as np
import pytest
import scipy.sparse as sp

from tests.relaxed.cases import Corpus, random_corpus
from wordferry import Measure, Searcher, pairwise
from wordferry.compare import bags as module
from wordferry.compare.bags import Bags
from wordferry.compare.frame import Frame


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return random_corpus(seed=3, documents=40)


def prepared(corpus: Corpus) -> Bags:
    return Measure("rwmd", **corpus.options).problem(corpus.x, corpus.y).y


def test_rows_are_shares_and_counts(corpus: Corpus) -> None:
    side = prepared(corpus)
    for row, bag in enumerate(corpus.second):
        words, shares = side.masses.row(row)
        counts = np.array([bag[word] for word in sorted(bag)])
        assert len(words) == len(bag)
        np.testing.assert_allclose(shares, counts / counts.sum(), rtol=1e-6)
    assert side.counts is not None
    assert side.counts.tolist() == corpus.y.data.tolist()


def test_slices_and_takes_are_the_same_documents(corpus: Corpus) -> None:
    side = prepared(corpus)
    assert side.slice(0, len(side)) is side
    middle, chosen = side.slice(5, 20), side.take(np.array([7, 3, 3]))
    assert middle.rows.tolist() == list(range(5, 20))
    assert chosen.rows.tolist() == [7, 3, 3]
    for part, rows in ((middle, range(5, 20)), (chosen, (7, 3, 3)), (middle.slice(2, 4), (7, 8))):
        for place, row in enumerate(rows):
            for own, whole in zip(part.masses.row(place), side.masses.row(row), strict=True):
                np.testing.assert_array_equal(own, whole)
        assert part.passed == side.passed


def test_a_slice_takes_centroids_from_the_whole(corpus: Corpus) -> None:
    problem = Measure("wcd", **corpus.options).problem(corpus.x, corpus.y)
    means, _ = problem.y.slice(4, 9).centroids(problem.frame)
    assert np.shares_memory(means, problem.y.centroids(problem.frame)[0])


def test_blocks_of_rows_change_nothing(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = sp.csr_array(corpus.y * np.linspace(0.5, 2, corpus.y.shape[1]))
    for matrix in (corpus.y, weights):
        whole = Measure("rwmd", **corpus.options).problem(matrix).x
        for size in (1, 7, 50):
            monkeypatch.setattr(module, "_BLOCK", size)
            parts = Measure("rwmd", **corpus.options).problem(matrix).x
            np.testing.assert_array_equal(parts.masses.data, whole.masses.data)
            np.testing.assert_array_equal(parts.masses.indices, whole.masses.indices)
            np.testing.assert_array_equal(parts.masses.indptr, whole.masses.indptr)
            assert (parts.counts is None) == (whole.counts is None)
        monkeypatch.undo()


def test_making_masses_needs_little_beside_the_result() -> None:
    rng = np.random.default_rng(0)
    rows, words, per_row = 100_000, 5_000, 40
    indices = np.sort(rng.integers(0, words, (rows, per_row)), axis=1).astype(np.int32).ravel()
    data = np.ones(rows * per_row, dtype=np.int32)
    matrix = sp.csr_array((data, indices, np.arange(rows + 1) * per_row), shape=(rows, words))
    frame = Frame.build(np.arange(words), words, None, None)
    tracemalloc.start()
    made = Bags.of(matrix, np.arange(rows), frame)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    kept = made.masses.indices.nbytes + made.masses.data.nbytes + made.counts.nbytes
    # Twice the result while blocks are joined, and what one block needs on the way.
    assert peak < 2 * kept + 80 * module._BLOCK


@pytest.mark.parametrize("distance", ["cosine", "bow-l1", "wcd", "rwmd", "rel-rwmd", "act", "wmd", "rel-wmd"])
def test_a_searcher_derives_nothing_from_its_collection_twice(
    corpus: Corpus, distance: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every derived property of the collection is counted over five queries, with words that are new to it."""
    counts: dict[str, int] = {}

    def counting(name: str, make):
        def wrapped(self, *arguments):
            if len(self) == len(corpus.second):
                counts[name] = counts.get(name, 0) + 1
            return make(self, *arguments)

        return wrapped

    for name, value in list(vars(Bags).items()):
        if isinstance(value, cached_property):
            counted = cached_property(counting(name, value.func))
            counted.__set_name__(Bags, name)
            monkeypatch.setattr(Bags, name, counted)
    options = corpus.options if distance.startswith("rel-") else {"embeddings": corpus.embeddings}
    searcher = Searcher(corpus.y, distance, **options)
    views = []
    make_view = module.passes.view
    monkeypatch.setattr(module.passes, "view", lambda csr: views.append(csr.shape[0]) or make_view(csr))
    for query in range(5):
        found = searcher.top_k(corpus.x[query : query + 1], 3)
        values = pairwise(corpus.x[query : query + 1], corpus.y, distance, **options)[0]
        np.testing.assert_allclose(found.distances[0], np.sort(values)[:3], atol=1e-5)
    assert {name: count for name, count in counts.items() if count > 6} == {}
    derived = vars(searcher.bags)
    before = {name: id(value) for name, value in derived.items() if name != "_kept"}
    kept = {name: id(value) for name, value in derived.get("_kept", {}).items()}
    views.clear()
    searcher.top_k(corpus.x[6:7], 3)
    assert {name: id(value) for name, value in vars(searcher.bags).items() if name != "_kept"} == before
    assert {name: id(value) for name, value in vars(searcher.bags).get("_kept", {}).items()} == kept
    assert len(corpus.second) not in views, "the collection was checked again"


@pytest.mark.parametrize("few", [1, 10**6])
def test_documents_over_some_words(corpus: Corpus, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked up word by word or read from end to end, the documents over some words are the same."""
    monkeypatch.setattr(module, "_FEW_WORDS", few)
    ordered = prepared(corpus).ordered
    words = np.array([int(ordered.words[4]), len(ordered.local) + 3, int(ordered.words[0]), int(ordered.words[2])])
    dense = sp.csr_array(
        (ordered.bags.data, ordered.bags.indices, ordered.bags.indptr), shape=ordered.bags.shape
    ).toarray()
    wanted = np.zeros((len(dense), 4), dtype=np.float32)
    wanted[:, [0, 2, 3]] = dense[:, [4, 0, 2]]
    found = ordered.over(words)
    matrix = sp.csr_array((found.data, found.indices, found.indptr), shape=found.shape)
    assert matrix.has_canonical_format
    assert np.array_equal(matrix.toarray(), wanted)

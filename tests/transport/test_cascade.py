"""Exact top-k equals brute force: indices, distances, ties, masks, budgets, threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import wordferry
from tests.transport.helpers import brute_force, random_counts, random_embeddings
from wordferry.errors import InputError, SolverError
from wordferry.words.related.graph import RelatedWords

CASES = [("wmd", None), ("rel-wmd", "residual"), ("rel-wmd", "keep")]


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "duplicate vectors"])
def corpus(request):
    embeddings = random_embeddings(80, 12, duplicates=request.param)
    X, Y = random_counts(15, 80, 9, seed=1), random_counts(120, 80, 9, seed=2)
    return X, Y, {"embeddings": embeddings, "related": RelatedWords.build(embeddings, 6)}


@pytest.mark.parametrize(("distance", "overlap"), CASES)
@pytest.mark.parametrize("k", [1, 10, 120, 200])
def test_equals_brute_force(corpus, distance, overlap, k):
    X, Y, options = corpus
    found = wordferry.top_k(X, Y, k, distance, overlap=overlap, **options)
    values = wordferry.pairwise(X, Y, distance, overlap=overlap, **options)
    order, best = brute_force(values, k)
    np.testing.assert_array_equal(found.indices[:, : order.shape[1]], order)
    np.testing.assert_array_equal(found.distances[:, : order.shape[1]], best)
    assert (found.indices[:, order.shape[1] :] == -1).all()
    assert np.isinf(found.distances[:, order.shape[1] :]).all()
    assert found.solved == found.counts["solved"] <= found.counts["pairs"] == values.size
    assert found.proved is None


@pytest.mark.parametrize("distance", ["wmd", "rel-wmd"])
def test_many_queries_in_little_memory(corpus, distance):
    _, _, options = corpus
    Y, queries = random_counts(2000, 80, 6, seed=7), random_counts(150, 80, 6, seed=8)
    found = wordferry.top_k(queries, Y, 4, distance, memory=1 << 20, **options)  # bounds for 32 queries at a time
    at_once = wordferry.top_k(queries, Y, 4, distance, **options)
    np.testing.assert_array_equal(found.indices, at_once.indices)
    np.testing.assert_array_equal(found.distances, at_once.distances)
    some = wordferry.top_k(queries[60:70], Y, 4, distance, **options)
    np.testing.assert_array_equal(found.indices[60:70], some.indices)


@pytest.mark.parametrize("distance", ["wmd", "rel-wmd"])
def test_progress_rises_to_the_end(corpus, distance):
    _, _, options = corpus
    Y, queries = random_counts(2000, 80, 6, seed=7), random_counts(150, 80, 6, seed=8)
    told = []
    wordferry.top_k(
        queries, Y, 4, distance, memory=1 << 20, progress=lambda *where: told.append(where), threads=1, **options
    )
    assert {total for _, total in told} == {150}
    done = [done for done, _ in told]
    assert done == sorted(done)
    assert done[-1] == 150


def test_fewer_problems_are_solved_than_there_are_pairs(corpus):
    X, Y, options = corpus
    found = wordferry.top_k(X, Y, 3, "wmd", **options)
    assert 3 * len(found) <= found.solved < found.counts["pairs"] / 2


@pytest.mark.parametrize("distance", ["wmd", "rel-wmd"])
def test_a_document_finds_itself_and_its_copies_first(corpus, distance):
    _, Y, options = corpus
    found = wordferry.top_k(Y, Y, 2, distance, **options)
    assert (found.distances[:, 0] == 0).all()
    copies = np.arange(4, 120, 5)
    np.testing.assert_array_equal(found.distances[copies], 0)
    assert (found.indices[copies, 0] < copies).all()


@pytest.mark.parametrize("distance", ["wmd", "rel-wmd"])
@pytest.mark.parametrize("share", [0.2, 0.8])
def test_mask(corpus, distance, share):
    X, Y, options = corpus
    mask = np.random.default_rng(3).random(Y.shape[0]) < share
    found = wordferry.top_k(X, Y, 5, distance, mask=mask, **options)
    values = wordferry.pairwise(X, Y, distance, **options)
    order, best = brute_force(np.where(mask, values, np.inf), 5)
    np.testing.assert_array_equal(found.indices, order)
    np.testing.assert_array_equal(found.distances, best)


@pytest.mark.parametrize("budget", [0, 3, 10, 25, 120])
def test_budget_proves_only_what_is_true(corpus, budget):
    X, Y, options = corpus
    k = 10
    found = wordferry.top_k(X, Y, k, "wmd", budget=budget, **options)
    full = wordferry.top_k(X, Y, k, "wmd", **options)
    values = wordferry.pairwise(X, Y, "wmd", **options)
    assert found.solved <= budget * len(found)
    for query in range(len(found)):
        here = found.indices[query] >= 0
        assert here.sum() == min(budget, k)
        np.testing.assert_array_equal(found.distances[query, here], values[query, found.indices[query, here]])
        proved = found.proved[query]
        np.testing.assert_array_equal(found.indices[query, proved], full.indices[query, proved])
        np.testing.assert_array_equal(found.distances[query, proved], full.distances[query, proved])
    if budget == 120:
        assert found.proved.all()
        np.testing.assert_array_equal(found.indices, full.indices)


def test_a_budget_needs_a_transport_distance(corpus):
    X, Y, options = corpus
    with pytest.raises(InputError, match="rel-rwmd has none"):
        wordferry.top_k(X, Y, 3, "rel-rwmd", budget=5, **options)
    with pytest.raises(InputError, match="budget must be"):
        wordferry.top_k(X, Y, 3, "wmd", budget=-1, **options)


def test_empty_documents_come_last(corpus):
    X, Y, options = corpus
    Y = Y[:6].toarray()
    Y[[1, 4]] = 0
    found = wordferry.top_k(X[:2], Y, 6, "wmd", on_empty="keep", **options)
    assert np.isinf(found.distances[:, 4:]).all()
    assert np.isfinite(found.distances[:, :4]).all()
    assert set(found.indices[:, :4].ravel().tolist()) == {0, 2, 3, 5}


def test_threads_and_callers_do_not_change_the_answer(corpus):
    X, Y, options = corpus

    def search(threads):
        return wordferry.top_k(X, Y, 7, "wmd", threads=threads, **options)

    alone = search(1)
    with ThreadPoolExecutor(2) as pool:
        for found in pool.map(search, [1, 2, 3, 2]):
            np.testing.assert_array_equal(found.indices, alone.indices)
            np.testing.assert_array_equal(found.distances, alone.distances)
            assert found.counts == alone.counts


@pytest.mark.parametrize("distance", ["wmd", "act"])
def test_vectors_too_long_for_distances(distance):
    """Such vectors are refused where they enter; were they not, they would give an error and not an answer."""
    matrix = (np.eye(4) * 1e30).astype(np.float32)
    embeddings = wordferry.Embeddings._trusted(wordferry.Vocabulary(["a", "b", "c", "d"]), matrix, False)
    with pytest.raises(SolverError, match="NaN or infinite"):
        wordferry.pairwise([["a", "b"]], [["c", "d"]], distance, embeddings=embeddings)
    if distance == "wmd":
        with pytest.raises(SolverError, match="NaN or infinite"):
            wordferry.top_k([["a", "b"]], [["c", "d"]], 1, distance, embeddings=embeddings)


@pytest.mark.parametrize("scale", [1e-18, 1e-9, 1e9, 1e18])
def test_the_size_of_the_vectors_does_not_matter(scale):
    vectors = np.random.default_rng(0).normal(size=(120, 20))
    words = [f"w{i}" for i in range(120)]
    X, Y = random_counts(6, 120, 50, seed=1), random_counts(20, 120, 50, seed=2)
    plain = wordferry.Embeddings(words, vectors, normalize=False)
    scaled = wordferry.Embeddings(words, vectors * scale, normalize=False)
    values = wordferry.pairwise(X, Y, "wmd", embeddings=scaled)
    np.testing.assert_allclose(values / scale, wordferry.pairwise(X, Y, "wmd", embeddings=plain), rtol=1e-6)
    found = wordferry.top_k(X, Y, 4, "wmd", embeddings=scaled)
    order, best = brute_force(values, 4)
    np.testing.assert_array_equal(found.indices, order)
    np.testing.assert_array_equal(found.distances, best)

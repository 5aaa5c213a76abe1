"""Numbers of any size: masses and costs, threads, budgets, places. Each is computed with, or refused by our errors."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import wordferry
from tests.transport.helpers import random_embeddings
from wordferry import Embeddings, Searcher, Vocabulary, distance, pairwise, solve, top_k
from wordferry.errors import EmptyDocumentError, InputError, SolverError
from wordferry.words.related.graph import RelatedWords

EMBEDDINGS = random_embeddings(6, 3)
X = sp.csr_array(np.eye(6))
NOTHING = sp.csr_array((2, 6))
HUGE = [2**31, 2**63, 10**30]


@pytest.mark.parametrize("threads", HUGE)
def test_threads_beyond_reason(threads):
    for call in (
        lambda: pairwise(X, X, "rwmd", embeddings=EMBEDDINGS, threads=threads),
        lambda: top_k(X, X, 1, "wmd", embeddings=EMBEDDINGS, threads=threads),
        lambda: RelatedWords.build(EMBEDDINGS, 2, threads=threads),
        lambda: RelatedWords.build(EMBEDDINGS, 2).rows_for(EMBEDDINGS.matrix, EMBEDDINGS, threads=threads),
    ):
        with pytest.raises(InputError, match="threads must be at most"):
            call()


@pytest.mark.parametrize("value", HUGE)
def test_budgets_and_memory_beyond_reason_are_as_good_as_none(value):
    expected = top_k(X, X, 3, "wmd", embeddings=EMBEDDINGS)
    found = top_k(X, X, 3, "wmd", embeddings=EMBEDDINGS, budget=value, memory=value)
    np.testing.assert_array_equal(found.indices, expected.indices)
    assert found.proved.all()


@pytest.mark.parametrize("distance", ["rwmd", "rel-rwmd", "wmd", "cosine", "act"])
@pytest.mark.parametrize("k", [10**8, *HUGE])
def test_more_places_than_documents(distance, k):
    tracemalloc.start()
    found = top_k(X[:1], X[:3], k, distance, embeddings=EMBEDDINGS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20
    all_three = top_k(X[:1], X[:3], 3, distance, embeddings=EMBEDDINGS)
    assert found.indices.shape == (1, 3)
    np.testing.assert_array_equal(found.indices, all_three.indices)
    np.testing.assert_array_equal(found.distances, all_three.distances)


@pytest.mark.parametrize("distance", list(wordferry.DISTANCES))
def test_collections_of_empty_documents(distance):
    options = {"embeddings": EMBEDDINGS, "on_empty": "keep"}
    assert (pairwise(NOTHING, NOTHING, distance, **options) == 0).all()
    assert (pairwise(NOTHING, None, distance, **options) == 0).all()
    assert np.isinf(pairwise(NOTHING, X, distance, **options)).all()
    assert np.isinf(pairwise(X, NOTHING, distance, **options)).all()
    assert (pairwise([[]], [[], []], distance, **options) == 0).all()
    assert top_k(NOTHING, NOTHING, 2, distance, **options).indices.tolist() == [[0, 1], [0, 1]]
    assert np.isinf(top_k(NOTHING, X, 2, distance, **options).distances).all()
    assert Searcher(NOTHING, distance, **options).top_k(NOTHING, 1).distances.tolist() == [[0], [0]]


@pytest.mark.parametrize("distance", ["tfidf-l1", "tfidf-cosine"])
def test_documents_whose_words_all_weigh_nothing(distance):
    idf = np.array([0, 1, 1, 1, 1, 1.0])
    options = {"embeddings": EMBEDDINGS, "weights": idf}
    with pytest.raises(EmptyDocumentError, match=r"Document 0 of X.*weight 0"):
        pairwise(X, X, distance, **options)
    with pytest.raises(EmptyDocumentError, match=r"Document 0 of Y.*weight 0"):
        pairwise(X[1:], X, distance, **options)
    with pytest.raises(EmptyDocumentError, match="weight 0"):
        Searcher(X, distance, **options)
    assert pairwise(X, X, distance, on_empty="drop", **options).shape == (5, 5)
    kept = pairwise(X, None, distance, on_empty="keep", **options)
    assert np.isinf(kept[0, 1:]).all()
    assert kept[0, 0] == 0
    found = top_k(X[1:2], X, 2, distance, on_empty="drop", **options)
    assert found.indices[0, 0] == 1
    mixed = sp.csr_array(np.array([[1.0, 2, 0, 0, 0, 0]]))
    np.testing.assert_allclose(pairwise(mixed, X[1:2], distance, **options), [[0]], atol=1e-6)


def test_vectors_in_column_order():
    matrix = np.asfortranarray(EMBEDDINGS.matrix.copy())
    adopted = Embeddings.adopt(Vocabulary(EMBEDDINGS.vocabulary), matrix)
    made = Embeddings(EMBEDDINGS.vocabulary, matrix)
    expected = distance(["w0", "w1"], ["w2"], "wmd", embeddings=EMBEDDINGS)
    for embeddings in (adopted, made):
        assert distance(["w0", "w1"], ["w2"], "wmd", embeddings=embeddings) == pytest.approx(expected, rel=1e-6)
    rows = np.asfortranarray(np.eye(6))
    assert distance(rows[:1], rows[1:2], "wmd", embeddings=EMBEDDINGS) > 0


# --- solve


@pytest.mark.parametrize("masses", [[1, 1], [1.0, 1.0]])
def test_costs_too_large_to_be_added(masses):
    with pytest.raises(InputError, match="too much for float64"):
        solve(masses, masses, np.full((2, 2), 1e308))


@pytest.mark.parametrize("size", [1e308, 1e200, 1e-200, 5e-324])
def test_masses_that_cannot_be_multiplied(size):
    with pytest.raises(InputError, match="sum of masses_a"):
        solve(np.ones(2) * size, np.ones(2) * size, np.eye(2))


@pytest.mark.parametrize("costs", [[["a", "b"], ["c", "d"]], [[1j, 0], [0, 1]], [[None, 0], [0, 1]], [1.0, 2.0]])
def test_costs_that_are_no_numbers(costs):
    with pytest.raises(InputError, match="costs must be numbers"):
        solve([1, 1], [1, 1], costs)


@pytest.mark.parametrize("cost", [1e-150, 1e-30, 1e30, 1e130])
@pytest.mark.parametrize("mass", [1e-150, 1e-30, 1e30, 1e149])
def test_what_is_allowed_is_solved(cost, mass):
    found = solve(np.array([1.0, 2.0]) * mass, np.array([2.0, 1.0]) * mass, np.array([[0, 1 / 3], [1 / 3, 1.0]]) * cost)
    assert found.cost / mass / cost == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_costs_that_are_not_finite(bad):
    with pytest.raises(SolverError, match="NaN or infinite"):
        solve([1, 1], [1, 1], [[bad, 0], [0, 1]])

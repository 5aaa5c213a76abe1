"""act: its reference, and its place between rwmd and wmd."""

from __future__ import annotations

import numpy as np
import pytest

import wordferry
from tests.transport.helpers import random_counts, random_embeddings
from wordferry.kernels import reference


@pytest.fixture(scope="module")
def corpus():
    return random_counts(18, 60, 10, seed=5), random_counts(18, 60, 10, seed=6), random_embeddings(60, 10)


def bags(X):
    dense = X.toarray()
    return [{int(w): row[w] / row.sum() for w in np.flatnonzero(row)} for row in dense]


@pytest.mark.parametrize("overlap", ["omr", "residual"])
def test_equals_the_reference(corpus, overlap):
    X, Y, embeddings = corpus
    values = wordferry.pairwise(X, Y, "act", embeddings=embeddings, overlap=overlap)
    cost = reference.euclidean_cost(embeddings.matrix)
    expected = [[reference.act(x, y, cost, overlap) for y in bags(Y)] for x in bags(X)]
    np.testing.assert_allclose(values, expected, atol=2e-6)


def test_no_transfer_is_the_relaxed_distance(corpus):
    X, Y, embeddings = corpus
    cost = reference.euclidean_cost(embeddings.matrix)
    for x, y in zip(bags(X), bags(Y), strict=True):
        for overlap in ("omr", "residual"):
            relaxed = reference.rwmd(x, y, cost, overlap)
            assert reference.act(x, y, cost, overlap, number=0) == pytest.approx(relaxed, abs=1e-12)


def test_order(corpus):
    X, Y, embeddings = corpus

    def values(name, overlap):
        return wordferry.pairwise(X, Y, name, embeddings=embeddings, overlap=overlap).astype(np.float64)

    slack = 1e-5
    assert (values("rwmd", "omr") <= values("act", "omr") + slack).all()
    assert (values("act", "omr") <= values("act", "residual") + slack).all()
    assert (values("rwmd", "residual") <= values("act", "residual") + slack).all()
    assert (values("act", "residual") <= values("wmd", "residual") + slack).all()
    assert (values("act", "omr") > values("rwmd", "omr") + slack).any()


def test_symmetric_and_zero_for_equal_bags(corpus):
    X, _, embeddings = corpus
    values = wordferry.pairwise(X, X.copy() * 3, "act", embeddings=embeddings)
    np.testing.assert_array_equal(values, values.T)
    np.testing.assert_array_equal(np.diag(values), 0)


def test_nearest(corpus):
    X, Y, embeddings = corpus
    found = wordferry.top_k(X, Y, 4, "act", embeddings=embeddings)
    values = wordferry.pairwise(X, Y, "act", embeddings=embeddings)
    np.testing.assert_array_equal(found.distances, np.sort(values, axis=1)[:, :4])
    assert found.solved == 0

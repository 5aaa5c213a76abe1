"""Distances of words: right, and the same to the bit whatever else is computed in the call."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordferry.kernels.passes import distances_of as word_distances


def vectors(count, dimensions, seed):
    return np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)


@pytest.mark.parametrize("dimensions", [1, 2, 15, 16, 17, 63, 64, 65, 100, 300])
@pytest.mark.parametrize(("queries", "words"), [(1, 1), (3, 16), (4, 17), (7, 33), (18, 48), (2, 600)])
def test_close_to_float64(dimensions, queries, words):
    x, y = vectors(queries, dimensions, 0), vectors(words, dimensions, 1)
    y[: min(words, queries) : 2] = x[: min(words, queries) : 2]
    true = np.sqrt(((x[:, None].astype(np.float64) - y[None].astype(np.float64)) ** 2).sum(axis=2))
    found = word_distances(x, y, 1)
    np.testing.assert_allclose(found, true, rtol=1e-6)
    assert (found[true == 0] == 0).all()


@given(st.integers(1, 40), st.integers(1, 70), st.integers(1, 140), st.integers(0, 2**32 - 1))
def test_a_distance_depends_on_its_two_vectors_alone(queries, words, dimensions, seed):
    x, y = vectors(queries, dimensions, seed), vectors(words, dimensions, seed + 1)
    found = word_distances(x, y, 1)
    np.testing.assert_array_equal(word_distances(y, x, 1).T, found)
    i, j = seed % queries, seed % words
    assert word_distances(x[[i]], y[[j]], 1)[0, 0] == found[i, j]
    np.testing.assert_array_equal(word_distances(x[i:], y[j:], 2), found[i:, j:])

"""Matrices as callers have them: whatever their arrays and flags look like, the same documents are read."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from tests.transport.helpers import random_embeddings

import wordferry
from wordferry.base.arrays import canonical_csr

DENSE = np.array([[1, 2, 0, 0, 3.0, 0], [0, 0, 4, 0, 0, 5.0]])


def test_spare_room_at_the_end_of_the_arrays():
    X = sp.csr_array(DENSE)
    X.data, X.indices = np.append(X.data, [9.0, 9.0]), np.append(X.indices, [0, 0]).astype(X.indices.dtype)
    found = canonical_csr(X)
    np.testing.assert_array_equal(found.toarray(), DENSE)
    assert len(found.data) == len(found.indices) == found.nnz == 5
    embeddings = random_embeddings(6, 4)
    for distance in ("wmd", "rwmd", "cosine"):
        expected = wordferry.pairwise(DENSE, None, distance, embeddings=embeddings)
        np.testing.assert_array_equal(wordferry.pairwise(X, None, distance, embeddings=embeddings), expected)


def test_flags_that_are_no_longer_true():
    X = sp.csr_array(DENSE)
    assert X.has_canonical_format  # now remembered
    X.indices[:3] = [4, 0, 4]
    found = canonical_csr(X)
    np.testing.assert_array_equal(found.indices[: found.indptr[1]], [0, 4])
    np.testing.assert_array_equal(found.toarray()[0], [2, 0, 0, 0, 4, 0])
    np.testing.assert_array_equal(X.indices[:3], [4, 0, 4])  # the caller's own is left alone

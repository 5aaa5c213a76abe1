"""Weights that cannot be summed are refused by name and row, before any kernel sees them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import wordferry
from tests.transport.helpers import random_embeddings
from wordferry.base.arrays import canonical_csr, row_sums
from wordferry.errors import InputError
from wordferry.texts import bow

EMBEDDINGS = random_embeddings(4, 3)
MODEST = sp.csr_array(np.array([[0, 1.0, 1.0, 0]]))
HUGE = [
    np.array([[0, 1, 0, 0], [1e308, 1e308, 1e308, 0]]),
    np.array([[0, 1, 0, 0], [1e308, 1e308, 0, 0]]),
    np.array([[0, 1, 0, 0], [1e4000, 1e4000, 0, 0]], dtype=np.longdouble),
]


@pytest.mark.parametrize("distance", list(wordferry.DISTANCES))
@pytest.mark.parametrize("weights", HUGE, ids=["three", "two", "longdouble"])
def test_rows_whose_sum_overflows_are_refused(distance, weights):
    if weights.dtype == np.longdouble and np.finfo(np.longdouble).max == np.finfo(np.float64).max:
        pytest.skip("long double is double on this machine")
    for X, Y, name in ((sp.csr_array(weights), MODEST, "X"), (MODEST, sp.csr_array(weights), "Y")):
        with pytest.raises(InputError, match=rf"{name}\b.*row 1"):
            wordferry.pairwise(X, Y, distance, embeddings=EMBEDDINGS)


def test_large_weights_whose_sum_is_finite_are_masses_like_others():
    small = np.array([[3.0, 1.0, 0, 0], [0, 0, 1.0, 2.0]])
    for distance in wordferry.DISTANCES:
        expected = wordferry.pairwise(small, MODEST, distance, embeddings=EMBEDDINGS)
        for scale in (1e307, 1e-300):
            found = wordferry.pairwise(small * scale, MODEST, distance, embeddings=EMBEDDINGS)
            np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("distance", ["tfidf-l1", "tfidf-cosine"])
def test_idf_that_overflows_is_refused(distance):
    with pytest.raises(InputError, match="row 0"):
        wordferry.pairwise(MODEST, MODEST, distance, embeddings=EMBEDDINGS, weights=np.full(4, 1e308))
    with pytest.raises(InputError, match="row 0"):
        wordferry.top_k(MODEST, MODEST, 1, distance, embeddings=EMBEDDINGS, weights=np.full(4, 1e308))


def test_weighted_and_normalized_refuse_what_they_cannot_sum():
    with pytest.raises(InputError, match="row 0"):
        bow.weighted(MODEST, np.full(4, 1e308))
    with pytest.raises(InputError, match="row 1"):
        bow.normalized(sp.csr_array(HUGE[0]))


def test_texts_weigh_what_they_always_did():
    X = wordferry.encode([["w0", "w0", "w1"], ["w2"]], wordferry.Embeddings(["w0", "w1", "w2"], np.eye(3)))
    np.testing.assert_array_equal(row_sums(X), [3, 1])


def _twice(value, dtype, other=5):
    """A row with ``value`` twice in the same cell, and another word."""
    data, columns = np.array([value, value, other], dtype=dtype), np.array([0, 0, 1], dtype=np.int32)
    return sp.csr_array((data, columns, np.array([0, 3])), shape=(1, 4))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.float16, np.float32])
def test_duplicates_are_summed_in_a_type_that_holds_them(dtype):
    largest = np.iinfo(dtype).max if np.issubdtype(dtype, np.integer) else np.finfo(dtype).max
    found = canonical_csr(_twice(largest, dtype))
    np.testing.assert_array_equal(found.toarray(), [[2 * float(largest), 5, 0, 0]])
    plain = np.array([[2 * float(largest), 5, 0, 0]])
    for distance in ("wmd", "rwmd", "cosine"):
        a = wordferry.pairwise(_twice(largest, dtype), MODEST, distance, embeddings=EMBEDDINGS)
        b = wordferry.pairwise(plain, MODEST, distance, embeddings=EMBEDDINGS)
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_whole_weights_that_no_integer_holds_are_refused(dtype):
    with pytest.raises(InputError, match="row 0"):
        canonical_csr(_twice(np.iinfo(dtype).max, dtype))
    half = np.iinfo(np.int64).max // 8
    assert canonical_csr(_twice(half, dtype)).toarray()[0, 0] == 2 * half


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32])
def test_a_negative_weight_is_not_hidden_by_its_duplicate(dtype):
    data, columns = np.array([-2, 3, 1], dtype=dtype), np.array([0, 0, 1], dtype=np.int32)
    X = sp.csr_array((data, columns, np.array([0, 3])), shape=(1, 4))
    for flavour in (X, X.tocoo(), X.tocsc()):
        with pytest.raises(InputError, match="negative"):
            canonical_csr(flavour)


@pytest.mark.parametrize("flavour", ["coo", "csc", "csr", "bsr"])
def test_no_flavour_sums_duplicates_before_they_are_checked(flavour):
    data = np.array([2**31 - 1, 2**31 - 1, 5], dtype=np.int32)
    coo = sp.coo_array((data, (np.zeros(3, np.int32), np.array([0, 0, 1], np.int32))), shape=(1, 4))
    if flavour == "coo":
        X = coo
    elif flavour == "csr":
        X = _twice(2**31 - 1, np.int32)
    elif flavour == "csc":
        X = sp.csc_array((data, np.zeros(3, np.int32), np.array([0, 2, 3, 3, 3])), shape=(1, 4))
    else:
        X = sp.bsr_array((data.reshape(3, 1, 1), np.array([0, 0, 1]), np.array([0, 3])), shape=(1, 4))
    np.testing.assert_array_equal(canonical_csr(X).toarray(), [[2.0**32 - 2, 5, 0, 0]])


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.one_of(st.integers(0, 2**31 - 1), st.just(2**31 - 1))), min_size=1, max_size=12
    )
)
def test_sums_of_int32_duplicates_are_those_of_python(entries):
    columns, values = zip(*entries, strict=True)
    X = sp.csr_array(
        (np.array(values, np.int32), np.array(columns, np.int32), np.array([0, len(values)])), shape=(1, 4)
    )
    expected = [sum(v for c, v in entries if c == column) for column in range(4)]
    assert canonical_csr(X).toarray()[0].tolist() == expected

"""Vectors as codes of one byte: what they keep, and that the kernel and NumPy say the same of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordferry.encoders import CodedQuery, Codes
from wordferry.errors import InputError
from wordferry.kernels import words


def vectors(rows: int, dimension: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, dimension)).astype(np.float32)


def test_codes_are_near_the_vectors_and_stay_what_they_are() -> None:
    given = vectors(300, 96)
    units = given / np.linalg.norm(given, axis=1, keepdims=True)
    codes = Codes.of(given)
    assert np.einsum("ij,ij->i", codes.vectors(), units).min() > 0.9998
    again = Codes.of(codes.vectors() * 7)
    np.testing.assert_array_equal(again.codes, codes.codes)
    np.testing.assert_array_equal(again.scales, codes.scales)


def test_a_vector_without_a_direction_has_the_scale_0() -> None:
    given = vectors(4, 8)
    given[1], given[2, 3] = 0, np.nan
    assert (Codes.of(given).scales > 0).tolist() == [True, False, False, True]


@given(
    rows=st.integers(0, 1500),
    dimension=st.integers(1, 70),
    k=st.integers(1, 40),
    cut=st.floats(0, 1),
    seed=st.integers(0, 1000),
)
@settings(max_examples=40, deadline=None)
def test_the_kernel_says_what_numpy_says(rows: int, dimension: int, k: int, cut: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    given = vectors(rows, dimension, seed)
    given[rng.random(rows) < 0.1] = 0
    codes, query = Codes.of(given), CodedQuery.of(rng.standard_normal(dimension))
    at = int(cut * rows)
    parts = [codes.select(np.arange(at)), codes.select(np.arange(at, rows))]
    alive, allowed = rng.random(rows) < 0.8, rng.random(rows) < 0.7
    allowed &= alive
    found = words.nearest_by_meaning([one.native for one in parts], (query.levels, query.scale), k, (alive, allowed))
    cosines = codes.cosines(query)
    there = codes.scales > 0
    order = [row for row in np.lexsort((np.arange(rows), -cosines)) if allowed[row] and there[row]][:k]
    assert found.rows.tolist() == order
    assert found.cosines.tolist() == cosines[order].tolist()
    whole = [int(one) for one in (cosines[alive & there] * words.PARTS).astype(np.int64)]
    assert found.sums == (len(whole), sum(whole), sum(one * one for one in whole))


def test_the_longest_vectors_that_fit() -> None:
    codes, query = Codes.of(np.ones((1, 30_000), np.float32)), CodedQuery.of(np.ones(30_000))
    found = words.nearest_by_meaning([codes.native], (query.levels, query.scale), 1, (None, None))
    assert found.cosines[0] == pytest.approx(1)


@pytest.mark.parametrize("given", [[], [[1.0, 2.0]], [1.0, np.inf]])
def test_a_query_is_a_row_of_finite_numbers(given: object) -> None:
    with pytest.raises(InputError, match="finite"):
        CodedQuery.of(given)

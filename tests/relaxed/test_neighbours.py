"""The comparison of neighbour lists is itself tested: it must refuse every kind of wrong list."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relaxed.neighbours import assert_same_neighbours
from wordferry.base.arrays import Neighbors

VALUES = np.array([[0.3, 0.1, 0.2, 0.1 + 1e-9, 0.9]])


def neighbours(indices: list[int], distances: list[float]) -> Neighbors:
    return Neighbors(np.array([indices], dtype=np.int64), np.array([distances], dtype=np.float32))


def test_the_right_list_passes() -> None:
    assert_same_neighbours(neighbours([1, 3, 2], [0.1, 0.1, 0.2]), VALUES, 3)


def test_a_swap_inside_rounding_passes() -> None:
    assert_same_neighbours(neighbours([3, 1, 2], [0.1 - 1e-7, 0.1, 0.2]), VALUES, 3)


def test_missing_places_pass() -> None:
    assert_same_neighbours(neighbours([1, 3, 2, 0, 4, -1], [0.1, 0.1, 0.2, 0.3, 0.9, np.inf]), VALUES, 6)


@pytest.mark.parametrize(
    ("indices", "distances"),
    [
        ([1, 2, 0], [0.1, 0.2, 0.3]),  # one nearer left out
        ([3, 1, 2], [0.1, 0.1, 0.2]),  # equal distances, larger index first
        ([1, 1, 2], [0.1, 0.1, 0.2]),  # twice the same
        ([1, 3, 2], [0.1, 0.1, 0.25]),  # a distance of another document
        ([2, 1, 3], [0.2, 0.1, 0.1]),  # not rising
        ([1, 3, -1], [0.1, 0.1, np.inf]),  # a place left empty
        ([1, 3, 5], [0.1, 0.1, 0.2]),  # no such document
    ],
)
def test_wrong_lists_are_refused(indices: list[int], distances: list[float]) -> None:
    with pytest.raises((AssertionError, IndexError)):
        assert_same_neighbours(neighbours(indices, distances), VALUES, 3)


def test_a_filled_place_without_a_candidate_is_refused() -> None:
    with pytest.raises(AssertionError):
        assert_same_neighbours(neighbours([1, 3, 2, 0, 4, 0], [0.1, 0.1, 0.2, 0.3, 0.9, np.inf]), VALUES, 6)

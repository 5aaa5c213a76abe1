"""Compare two lists of nearest documents, allowing swaps only between distances that rounding makes equal."""

from __future__ import annotations

import numpy as np

from wordferry.base.arrays import Neighbors


def assert_same_neighbours(found: Neighbors, values: np.ndarray, k: int, tolerance: float = 1e-6) -> None:
    """``found`` must be the k smallest of each row of ``values``, by (distance, index) up to ``tolerance``.

    Checked: no place comes twice; distances belong to their indices, rise, and are the k smallest; equal distances
    stand in order of their indices; places are missing (-1, inf) only where there are no candidates left.
    """
    rows, columns = values.shape
    filled = min(k, columns)
    assert found.indices.shape == found.distances.shape == (rows, k)
    assert (found.indices[:, filled:] == -1).all(), "a place beyond the number of candidates is filled"
    assert np.isposinf(found.distances[:, filled:]).all(), "a place beyond the number of candidates has a distance"
    for row in range(rows):
        indices, distances = found.indices[row, :filled], found.distances[row, :filled]
        assert len(set(indices.tolist())) == filled, f"row {row}: an index comes twice"
        assert ((indices >= 0) & (indices < columns)).all(), f"row {row}: an index is out of range"
        np.testing.assert_allclose(distances, values[row, indices], atol=tolerance, err_msg=f"row {row}")
        best = np.sort(values[row])[:filled]
        np.testing.assert_allclose(distances, best, atol=tolerance, err_msg=f"row {row}: not the nearest")
        pairs = list(zip(distances.tolist(), indices.tolist(), strict=True))
        assert pairs == sorted(pairs), f"row {row}: not ordered by (distance, index)"

"""Clouds of token vectors on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wordferry import clouds


@pytest.mark.parametrize("distance", ["wmd", "rwmd", "wcd"])
def test_clouds_have_the_values_of_the_cpu(device: Any, distance: str) -> None:
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 9, 14)
    packed = rng.normal(size=(int(sizes.sum()), 10)).astype(np.float32), np.concatenate([[0], np.cumsum(sizes)])
    some = [rng.normal(size=(5, 10)), rng.normal(size=(2, 10))]
    expected = clouds.pairwise(some, packed, distance)
    np.testing.assert_allclose(clouds.pairwise(some, packed, distance, device="cuda"), expected, rtol=0, atol=3e-6)
    nearest = clouds.top_k(some, packed, 4, distance, device="cuda")
    np.testing.assert_array_equal(nearest.indices, clouds.top_k(some, packed, 4, distance).indices)


def test_one_side(device: Any) -> None:
    """What MaxSim matches: every token of the query goes to its nearest token of the other cloud."""
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(4, 8)), rng.normal(size=(6, 8))
    for side in ("left", "right"):
        found = clouds.distance(a, b, "rwmd", side=side, device="cuda")
        assert found == pytest.approx(clouds.distance(a, b, "rwmd", side=side), abs=1e-6)

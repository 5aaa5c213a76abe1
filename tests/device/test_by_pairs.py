"""act and sinkhorn on the device: pair by pair, as the CPU computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wordferry
from tests.device.collections import documents, vectors
from wordferry.errors import SolverError

ACT = [("act", "omr"), ("act", "residual"), ("act(transfers=1)", "omr"), ("act(transfers=0)", "residual")]
SINKHORN = [("sinkhorn", "residual"), ("sinkhorn", "keep"), ("sinkhorn(regularization=0.005,rounds=40)", "residual")]
UNKNOWN = [
    ["w1", "w2", "strange"],
    ["w3", "w4"],
    ["strange", "odd", "w9", "even"],
    ["odd", "even"],
    ["w1", "odd", "w2"],
]


def ran(device: Any, rule: int) -> bool:
    """Whether kernels of a rule were launched; a GPU does not say."""
    launched = getattr(device, "launches", None)
    return launched is None or any(
        name.startswith("solve_documents:") and name.endswith(f":{rule}") for name in launched
    )


@pytest.mark.parametrize("weights", ["counts", "idf"])
@pytest.mark.parametrize(("distance", "overlap"), ACT)
def test_act_has_the_bits_of_the_cpu(device: Any, distance: str, overlap: str, weights: str) -> None:
    X, Y = documents(9, 1, 80), documents(20, 2)
    how = {"embeddings": vectors(), "overlap": overlap, "weights": weights}
    expected = wordferry.pairwise(X, Y, distance, **how)
    np.testing.assert_array_equal(wordferry.pairwise(X, Y, distance, device="cuda", **how), expected)
    assert ran(device, 2)


@pytest.mark.parametrize("k", [1, 6, 70])
@pytest.mark.parametrize(("distance", "overlap"), ACT[:2])
def test_neighbours_by_act_are_those_of_the_cpu(device: Any, distance: str, overlap: str, k: int) -> None:
    X, Y = documents(6, 6, 15), documents(60, 7, 15)
    how = {"embeddings": vectors(), "overlap": overlap, "mask": np.arange(60) % 7 != 2}
    expected = wordferry.top_k(X, Y, k, distance, **how)
    found = wordferry.top_k(X, Y, k, distance, device="cuda", **how)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)
    assert ran(device, 2)


@pytest.mark.parametrize("weights", ["counts", "idf"])
@pytest.mark.parametrize(("distance", "overlap"), SINKHORN)
def test_sinkhorn_has_the_values_of_the_cpu(device: Any, distance: str, overlap: str, weights: str) -> None:
    X, Y = documents(7, 1, 40), documents(12, 2)
    how = {"embeddings": vectors(), "overlap": overlap, "weights": weights}
    expected = wordferry.pairwise(X, Y, distance, **how)
    np.testing.assert_allclose(wordferry.pairwise(X, Y, distance, device="cuda", **how), expected, rtol=2e-7, atol=1e-9)
    assert ran(device, 1)


@pytest.mark.parametrize(("distance", "overlap"), SINKHORN[:2])
def test_neighbours_by_sinkhorn_are_those_of_the_cpu(device: Any, distance: str, overlap: str) -> None:
    X, Y = documents(6, 6, 15), documents(60, 7, 15)
    how = {"embeddings": vectors(), "overlap": overlap}
    expected = wordferry.top_k(X, Y, 5, distance, **how)
    found = wordferry.top_k(X, Y, 5, distance, device="cuda", **how)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.distances, expected.distances, rtol=2e-7, atol=1e-9)
    assert found.counts is not None
    assert found.counts["solved"] <= found.counts["candidates"] < 6 * 60
    assert found.counts["by_cpu"] == 0


@pytest.mark.parametrize("distance", ["act", "act(transfers=1)", "sinkhorn"])
def test_words_without_a_vector(device: Any, distance: str) -> None:
    how = {"distance": distance, "embeddings": vectors()}
    for texts in (UNKNOWN, UNKNOWN[::-1]):  # which side is that of the sources does not depend on the order
        expected = wordferry.pairwise(texts, UNKNOWN, **how)
        found = wordferry.pairwise(texts, UNKNOWN, device="cuda", **how)
        np.testing.assert_allclose(found, expected, rtol=2e-7 if distance == "sinkhorn" else 0, atol=1e-9)
    np.testing.assert_allclose(
        wordferry.pairwise(UNKNOWN, device="cuda", **how), wordferry.pairwise(UNKNOWN, **how), rtol=2e-7, atol=1e-9
    )
    assert ran(device, 1 if distance == "sinkhorn" else 2)


@pytest.mark.parametrize("distance", ["act", "sinkhorn"])
def test_costs_that_are_not_finite_are_named(device: Any, distance: str) -> None:
    """Such vectors are refused where they enter; were they not, the CPU would be asked, and say so."""
    matrix = (np.eye(4) * 1e30).astype(np.float32)
    embeddings = wordferry.Embeddings._trusted(wordferry.Vocabulary(["a", "b", "c", "d"]), matrix, False)
    with pytest.raises(SolverError, match="NaN or infinite"):
        wordferry.pairwise([["a", "b"]], [["c", "d"]], distance, embeddings=embeddings, device="cuda")

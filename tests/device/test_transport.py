"""Exact transport on the device: the values of the CPU, each with its proof."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wordferry
from tests.device.collections import documents, vectors
from wordferry.compare import nearest as cascade
from wordferry.device import transport
from wordferry.device.vectors import Vectors
from wordferry.errors import InputError
from wordferry.kernels import passes
from wordferry.kernels import passes as kernels

CASES = [("wmd", None), ("rel-wmd", "residual"), ("rel-wmd", "keep")]


def problems(count: int, most: int, seed: int) -> list[tuple[Any, Any, Any]]:
    """Whole masses of equal sums and costs of every kind: signed, tied, large, and assignments of equal masses."""
    rng, found = np.random.default_rng(seed), []
    for number in range(count):
        n, m = sorted(rng.integers(1, most + 1, 2).tolist())
        a, b = rng.integers(1, 30, m), rng.integers(1, 30, n)
        a, b = a * b.sum(), b * a.sum()
        if number % 4 == 0:
            n = m
            a = b = np.ones(m, dtype=np.int64)
        costs = rng.random((m, n)) if number % 3 else rng.normal(scale=1e3, size=(m, n))
        found.append((a, b, np.round(costs, 1) if number % 5 == 0 else costs))
    return found


def given(some: list[tuple[Any, Any, Any]]) -> transport.Given:
    a, b, costs = zip(*some, strict=True)
    ends = [np.concatenate([[0], np.cumsum([part.size for part in parts])]) for parts in (a, b, costs)]
    return transport.Given(*ends, np.concatenate(a), np.concatenate(b), np.concatenate([c.ravel() for c in costs]))


def solved(some: list[tuple[Any, Any, Any]], device: Any) -> transport.SolvedPairs:
    found = given(some).solve()
    return transport.SolvedPairs(device.get(found.values), device.get(found.gaps), device.get(found.steps))


@pytest.mark.parametrize(("count", "most", "seed"), [(40, 12, 1), (20, 40, 2), (4, 130, 3)])
def test_problems_as_they_are(device: Any, count: int, most: int, seed: int) -> None:
    some = problems(count, most, seed)
    found = solved(some, device)
    expected = np.array([wordferry.solve(*one).cost for one in some])
    np.testing.assert_allclose(found.values, expected, rtol=1e-12, atol=1e-9)
    assert found.proved(1e-6).all()
    assert (found.gaps >= found.values - expected - 1e-12 * np.abs(expected)).all()  # a bound bounds


def test_gaps_are_those_of_the_plan(device: Any) -> None:
    """A problem whose optimum is known has a gap of rounding only."""
    costs = np.array([[0.0, 1.0], [1.0, 3.0]])
    found = solved([(np.array([1, 2]), np.array([2, 1]), costs)], device)
    assert found.values[0] == 3.0
    assert 0 <= found.gaps[0] < 1e-13


def test_costs_of_words_have_the_bits_of_the_cpu(device: Any) -> None:
    """Of vectors that are equal, close (their distance is computed from differences) and far, in odd dimensions."""
    rng = np.random.default_rng(4)
    a = rng.normal(size=(40, 37)).astype(np.float32)
    b = np.concatenate([a[:5], a[:20] + 0.1 * rng.normal(size=(20, 37)), rng.normal(size=(50, 37))]).astype(np.float32)
    found = device.xp.empty((len(a), len(b)), dtype=np.float32)
    ours, others = (Vectors.of(some, passes.squares(some)) for some in (a, b))
    ours.costs(others, found)
    np.testing.assert_array_equal(device.get(found), kernels.distances_of(a, b, 1))


@pytest.mark.parametrize("weights", ["counts", "idf"])
@pytest.mark.parametrize(("distance", "overlap"), CASES)
def test_all_pairs(device: Any, distance: str, overlap: str | None, weights: str) -> None:
    X, Y = documents(12, 1), documents(25, 2)
    how = {"embeddings": vectors(), "overlap": overlap, "weights": weights}
    expected = wordferry.pairwise(X, Y, distance, **how)
    np.testing.assert_allclose(wordferry.pairwise(X, Y, distance, device="cuda", **how), expected, rtol=3e-7, atol=1e-7)


@pytest.mark.parametrize("distance", ["wmd", "rel-wmd"])
def test_a_collection_with_itself_in_small_memory(device: Any, distance: str) -> None:
    X, embeddings = documents(15, 3), vectors()
    expected = wordferry.pairwise(X, distance=distance, embeddings=embeddings)
    found = wordferry.pairwise(X, distance=distance, embeddings=embeddings, device="cuda", memory=1 << 20)
    np.testing.assert_allclose(found, expected, rtol=3e-7, atol=1e-7)


def test_unknown_words(device: Any) -> None:
    texts = [["w1", "w2", "strange"], ["w3", "w4"], ["strange", "odd", "w9"], ["odd", "even"]]
    expected = wordferry.pairwise(texts, distance="wmd", embeddings=vectors())
    found = wordferry.pairwise(texts, distance="wmd", embeddings=vectors(), device="cuda")
    np.testing.assert_allclose(found, expected, rtol=3e-7, atol=1e-7)


def test_what_is_too_large_goes_to_the_cpu(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MOST_CELLS", 100)
    X, Y, embeddings = documents(6, 4), documents(8, 5), vectors()
    found = wordferry.pairwise(X, Y, "wmd", embeddings=embeddings, device="cuda")
    np.testing.assert_allclose(found, wordferry.pairwise(X, Y, "wmd", embeddings=embeddings), rtol=3e-7, atol=1e-7)


def test_the_largest_are_solved_by_the_cpu_meanwhile(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a device that would take far longer for them."""
    monkeypatch.setattr(transport, "LARGE_CELLS", 100)
    monkeypatch.setattr(transport, "_DEVICE_SECONDS", 1.0)
    X, Y, embeddings = documents(6, 4), documents(8, 5), vectors()
    found = wordferry.top_k(X, Y, 8, "wmd", embeddings=embeddings, device="cuda")
    expected = wordferry.top_k(X, Y, 8, "wmd", embeddings=embeddings)
    np.testing.assert_array_equal(found.indices, expected.indices)
    assert found.counts is not None
    assert 0 < found.counts["by_cpu"] < found.counts["solved"]


def test_costs_in_device_memory(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_COSTS_BYTES", 0)
    monkeypatch.setattr(transport, "_BLOCKS", 3)
    some = problems(10, 20, 7)
    expected = [wordferry.solve(*one).cost for one in some]
    np.testing.assert_allclose(solved(some, device).values, expected, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("k", [1, 5, 90])
@pytest.mark.parametrize(("distance", "overlap"), CASES)
def test_neighbours_are_those_of_the_cpu(device: Any, distance: str, overlap: str | None, k: int) -> None:
    X, Y = documents(7, 6, 15), documents(60, 7, 15)
    how = {"embeddings": vectors(), "overlap": overlap, "mask": np.arange(60) % 7 != 2}
    expected = wordferry.top_k(X, Y, k, distance, **how)
    found = wordferry.top_k(X, Y, k, distance, device="cuda", **how)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.distances, expected.distances, rtol=3e-7, atol=1e-7)
    assert found.counts is not None
    assert found.counts["by_cpu"] == 0


def test_bounds_leave_problems_unsolved(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of candidates that are too short are followed by whatever else may win."""
    monkeypatch.setattr(cascade, "_LISTED", 4)
    X, Y = documents(9, 8, 12), documents(120, 9, 12)
    expected = wordferry.top_k(X, Y, 3, "wmd", embeddings=vectors())
    found = wordferry.top_k(X, Y, 3, "wmd", embeddings=vectors(), device="cuda")
    np.testing.assert_array_equal(found.indices, expected.indices)
    assert found.counts is not None
    assert 9 * 3 <= found.counts["solved"] < found.counts["candidates"] < 9 * 120


@pytest.mark.parametrize("large", [transport.LARGE_CELLS, 100])
def test_limits_and_problems_that_are_too_large(device: Any, monkeypatch: pytest.MonkeyPatch, large: int) -> None:
    """The CPU solves to the end what duals on the device do not rule out: at once of the large ones, or afterwards."""
    monkeypatch.setattr(transport, "MOST_CELLS", 100)
    monkeypatch.setattr(transport, "LARGE_CELLS", large)
    X, Y = documents(9, 8, 20), documents(120, 9, 20)
    expected = wordferry.top_k(X, Y, 3, "wmd", embeddings=vectors())
    found = wordferry.top_k(X, Y, 3, "wmd", embeddings=vectors(), device="cuda")
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.distances, expected.distances, rtol=3e-7, atol=1e-7)
    assert found.counts is not None
    assert 0 < found.counts["by_cpu"] < found.counts["solved"] < found.counts["candidates"]


@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_batches_of_problems(device: Any, where: str) -> None:
    some = problems(25, 15, 9)
    some += [(b, a, c.T) for a, b, c in some[:5]]  # more sources than sinks
    some += [(np.array([0.5, 0, 0.5]), np.array([0.25, 0.75]), np.arange(6.0).reshape(3, 2)), ([0], [0, 0], [[1, 2]])]
    batch = wordferry.solve_batch(*zip(*some, strict=True), device=where)
    expected = [wordferry.solve(*one).cost for one in some]
    np.testing.assert_allclose(batch.costs, expected, rtol=1e-9, atol=1e-9)
    assert (batch.gaps <= 1e-9).all()
    assert batch.on_device + batch.on_cpu == len(batch) == len(some)
    assert (batch.on_device > 10) == (where == "cuda")


def test_stacked_batches_and_their_errors(device: Any) -> None:
    rng = np.random.default_rng(3)
    a, b = np.full((6, 4), 0.25), np.full((6, 8), 0.125)
    costs = rng.random((6, 4, 8))
    found = [wordferry.solve_batch(a, b, costs, device=where).costs for where in ("cpu", "cuda")]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)
    np.testing.assert_allclose(
        found[0], [wordferry.solve(*one).cost for one in zip(a, b, costs, strict=True)], rtol=1e-9
    )
    whole = rng.integers(0, 3, (40, 5)) * 4, rng.integers(0, 3, (40, 5)) * 4  # some masses are 0
    whole[1][:, 0] += whole[0].sum(axis=1) - whole[1].sum(axis=1) + 80
    whole[0][:, 1] += 80
    matrices = rng.normal(size=(40, 5, 5))
    expected = wordferry.solve_batch(*map(list, (*whole, matrices))).costs
    np.testing.assert_allclose(wordferry.solve_batch(*whole, matrices, device="cuda").costs, expected, rtol=1e-9)
    matrices[7, 1, 0] = np.inf
    with pytest.raises(InputError, match="Problem 7 has costs that are NaN or infinite"):
        wordferry.solve_batch(*whole, matrices)
    with pytest.raises(InputError, match=r"Problem 1: The masses must have equal sums"):
        wordferry.solve_batch([[1], [2]], [[1], [3]], [[[1.0]], [[1.0]]])
    with pytest.raises(InputError, match="Problem 0 has costs that are NaN"):
        wordferry.solve_batch([[1, 1]], [[1, 1]], [[[1.0, np.nan], [1.0, 2.0]]])
    with pytest.raises(InputError, match="as many entries"):
        wordferry.solve_batch(a[:5], b, costs)


@pytest.mark.parametrize("distance", ["wmd", "rel-wmd", "rwmd", "rel-rwmd", "act", "sinkhorn"])
def test_cosine_costs(device: Any, distance: str) -> None:
    """rwmd is computed on the CPU by the same call; a pair of words that both have costs nothing, and may move."""
    X, Y = documents(8, 1, 12), documents(20, 2, 12)
    how, distance = {"embeddings": vectors()}, f"{distance}(cost=cosine)"
    expected = wordferry.pairwise(X, Y, distance, **how)
    found = wordferry.pairwise(X, Y, distance, device="cuda", **how)
    np.testing.assert_allclose(found, expected, rtol=3e-7, atol=3e-6)
    nearest = wordferry.top_k(X, Y, 5, distance, device="cuda", **how)
    np.testing.assert_array_equal(nearest.indices, wordferry.top_k(X, Y, 5, distance, **how).indices)
    if hasattr(device, "launches"):
        assert bool(device.launches) == (not distance.startswith("rwmd"))

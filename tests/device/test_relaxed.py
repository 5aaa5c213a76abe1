"""Relaxed distances and cosine on the device: the values of the CPU within a tolerance, and its neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wordferry
from tests.device.collections import documents, vectors
from wordferry.compare import on_device
from wordferry.device import panels

TOLERANCE = 3e-6
"""Relative to the largest distance."""
DISTANCES = ("rel-rwmd", "rwmd", "wcd", "cosine", "rel-rwmd + 2*cosine", "0.5*cosine + rwmd + rel-rwmd")


def close(found: Any, expected: Any) -> None:
    scale = float(np.max(expected[np.isfinite(expected)], initial=1.0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * scale)


@pytest.mark.parametrize("weights", ["counts", "idf"])
@pytest.mark.parametrize("side", ["both", "left", "right"])
@pytest.mark.parametrize("overlap", ["omr", "keep"])
def test_all_pairs_of_sided_distances(device: Any, overlap: str, side: str, weights: str) -> None:
    X, Y, embeddings = documents(40, 1), documents(150, 2), vectors()
    for distance in [name for name in DISTANCES if wordferry.find_distance(name).sided]:
        how = {"embeddings": embeddings, "overlap": overlap, "side": side, "weights": weights}
        expected = wordferry.pairwise(X, Y, distance, **how)
        close(wordferry.pairwise(X, Y, distance, device="cuda", **how), expected)


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_collection_with_itself(device: Any, distance: str) -> None:
    X, embeddings = documents(70, 3), vectors()
    found = wordferry.pairwise(X, distance=distance, embeddings=embeddings, device="cuda")
    close(found, wordferry.pairwise(X, distance=distance, embeddings=embeddings))


def test_cosines_have_the_bits_of_the_cpu(device: Any) -> None:
    X, Y = documents(40, 1), documents(150, 2)
    found = wordferry.pairwise(X, Y, "cosine", weights="idf", device="cuda")
    np.testing.assert_array_equal(found, wordferry.pairwise(X, Y, "cosine", weights="idf"))


@pytest.mark.parametrize("distance", ["cosine", "rel-rwmd + 2*cosine"])
def test_near_copies_in_the_order_of_the_cpu(device: Any, distance: str) -> None:
    """Of nearly equal documents 1 - product has lost its digits; they are computed from differences."""
    whole = documents(12, 3, 200).toarray() * 40
    copies = whole.copy()
    copies[np.arange(12), whole.argmax(axis=1)] += np.arange(12)
    Y = np.concatenate([whole, copies])
    expected = wordferry.top_k(whole, Y, 5, distance, embeddings=vectors())
    found = wordferry.top_k(whole, Y, 5, distance, embeddings=vectors(), device="cuda")
    np.testing.assert_array_equal(found.indices, expected.indices)
    assert (expected.distances[:, 1] < 1e-3).any()
    if distance == "cosine":
        np.testing.assert_array_equal(found.distances, expected.distances)
        assert found.counts is not None
        assert found.counts["refined"] == 0


@pytest.mark.parametrize("memory", [1 << 20, 1 << 28])
@pytest.mark.parametrize("distance", DISTANCES)
def test_neighbours_are_those_of_the_cpu(device: Any, distance: str, memory: int) -> None:
    X, Y, embeddings = documents(30, 4), documents(260, 5), vectors()
    for k in (1, 10, 300):
        how = {"embeddings": embeddings, "memory": memory}
        expected = wordferry.top_k(X, Y, k, distance, **how)
        found = wordferry.top_k(X, Y, k, distance, device="cuda", **how)
        np.testing.assert_array_equal(found.indices, expected.indices)
        close(found.distances[:, :260], expected.distances[:, :260])


@pytest.mark.parametrize("distance", DISTANCES)
def test_masks_are_kept(device: Any, distance: str) -> None:
    X, Y, embeddings = documents(9, 6), documents(90, 7), vectors()
    mask = np.arange(90) % 3 != 1
    expected = wordferry.top_k(X, Y, 5, distance, embeddings=embeddings, mask=mask)
    found = wordferry.top_k(X, Y, 5, distance, embeddings=embeddings, mask=mask, device="cuda")
    np.testing.assert_array_equal(found.indices, expected.indices)


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("overlap", ["omr", "keep"])
@pytest.mark.parametrize("distance", ["rel-rwmd", "rwmd", *DISTANCES[-2:]])
def test_candidates_that_rounding_could_decide_get_the_bits_of_the_cpu(
    device: Any, monkeypatch: pytest.MonkeyPatch, distance: str, overlap: str, unknown: bool
) -> None:
    """With all documents listed and large errors, every candidate is computed again."""
    monkeypatch.setattr(panels, "_PACKED_ERROR", 1.0)
    X, Y, embeddings = documents(12, 8, 50), documents(15, 9, 50), vectors()
    names = list(embeddings.vocabulary)
    if unknown:
        known = np.arange(len(names)) % 5 != 0
        texts = [[[names[i] for i in M[[r]].indices] for r in range(M.shape[0])] for M in (X, Y)]
        X, Y, embeddings = *texts, embeddings.restrict(np.flatnonzero(known))
    how = {"embeddings": embeddings, "overlap": overlap}
    expected = wordferry.top_k(X, Y, 7, distance, **how)
    found = wordferry.top_k(X, Y, 7, distance, device="cuda", **how)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)
    assert found.counts is not None
    assert found.counts["refined"] == 0  # none was left to the CPU


def test_rows_that_no_pass_settles_are_those_of_the_cpu(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_device, "_COST_ERROR", 1.0)
    monkeypatch.setattr(on_device, "_SPARE", (8, 9))
    X, Y, embeddings = documents(20, 8), documents(80, 9), vectors()
    expected = wordferry.top_k(X, Y, 7, "rwmd", embeddings=embeddings)
    found = wordferry.top_k(X, Y, 7, "rwmd", embeddings=embeddings, device="cuda")
    np.testing.assert_array_equal(found.distances, expected.distances)
    assert found.counts is not None
    assert found.counts["refined"] == 20


def test_texts_with_unknown_words_and_new_queries(device: Any) -> None:
    embeddings = vectors()
    Y = [["w1", "w2", "strange"], ["w3", "w4"], ["strange", "odd"], ["w1", "w9", "w9"]]
    X = [["w200", "odd"], ["w1", "strange", "w2"]]
    for distance in DISTANCES:
        searcher = wordferry.Searcher(Y, distance, embeddings=embeddings)
        on_device = wordferry.Searcher(Y, distance, embeddings=embeddings, device="cuda")
        expected, found = searcher.top_k(X, 3), on_device.top_k(X, 3)
        np.testing.assert_array_equal(found.indices, expected.indices)
        close(found.distances, expected.distances)


def test_empty_documents_are_far_from_all_others(device: Any) -> None:
    embeddings, Y = vectors(), [["w1", "w2"], [], ["w3"], [], ["w1", "w9"]]
    for distance in DISTANCES:
        how = {"embeddings": embeddings, "on_empty": "keep"}
        found = wordferry.pairwise(Y, Y, distance, device="cuda", **how)
        np.testing.assert_array_equal(np.isinf(found), np.isinf(wordferry.pairwise(Y, Y, distance, **how)))
        for k in (2, 3, 5):  # the last has places for documents without words
            expected = wordferry.top_k(Y, Y, k, distance, **how)
            np.testing.assert_array_equal(
                wordferry.top_k(Y, Y, k, distance, device="cuda", **how).indices, expected.indices
            )


def test_documents_with_more_masses_than_codes(device: Any) -> None:
    """Entries of tables are wide then, and values are those of the CPU to the bit."""
    rng, words = np.random.default_rng(0), 700
    embeddings = wordferry.Embeddings([f"w{i}" for i in range(words)], rng.normal(size=(words, 6)))
    X = rng.random((5, words)) * (rng.random((5, words)) < 0.9)
    expected = wordferry.pairwise(X, distance="rel-rwmd", embeddings=embeddings, algorithm="linear")
    found = wordferry.pairwise(X, distance="rel-rwmd", embeddings=embeddings, device="cuda")
    np.testing.assert_array_equal(found, expected)

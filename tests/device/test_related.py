"""The graph of related words on the device: the lists of the CPU, and its c_max."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wordferry
from tests.device.collections import vectors
from wordferry.device import neighbours


@pytest.mark.parametrize(("r", "memory"), [(1, 1 << 20), (16, 1 << 20), (16, 1 << 26), (100, 1 << 26)])
def test_lists_are_those_of_the_cpu(device: Any, r: int, memory: int) -> None:
    expected = wordferry.RelatedWords.build(vectors(), r, "exact")
    found = wordferry.RelatedWords.build(vectors(), r, "exact", device="cuda", memory=memory)
    np.testing.assert_array_equal(found.own, expected.own)
    np.testing.assert_allclose(found.own_distances, expected.own_distances, rtol=2e-7, atol=1e-7)
    assert found.c_max == pytest.approx(expected.c_max, rel=1e-6)
    assert "nearest_words" in getattr(device, "launches", ["nearest_words"])


def test_rough_products_of_many_words(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "_MANY", 0)
    expected = wordferry.RelatedWords.build(vectors(), 8, "exact")
    found = wordferry.RelatedWords.build(vectors(), 8, "exact", device="cuda")
    np.testing.assert_array_equal(found.own, expected.own)
    assert found.c_max == pytest.approx(expected.c_max, rel=1e-5)  # of 300 words the errors do not average out yet


def test_many_words_at_one_distance_are_taken_by_number(device: Any) -> None:
    """More words than candidates are equally far, so that neither pass over products can settle the lists."""
    embeddings = wordferry.Embeddings([f"w{i}" for i in range(60)], np.eye(60))
    expected = wordferry.RelatedWords.build(embeddings, 5, "exact")
    found = wordferry.RelatedWords.build(embeddings, 5, "exact", device="cuda")
    np.testing.assert_array_equal(found.own, expected.own)


def test_rough_products_do_not_decide(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Distances that the rounded vectors cannot tell apart: the other passes settle them."""
    monkeypatch.setattr(neighbours, "_MANY", 0)
    rng = np.random.default_rng(1)
    matrix = (np.ones((200, 8)) + 1e-4 * rng.normal(size=(200, 8))).astype(np.float32)
    found = neighbours.nearest_words(matrix, 10, 1 << 26, lambda done, total: None)
    squared = ((matrix[:, None].astype(np.float64) - matrix[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    np.testing.assert_array_equal(found.own, np.argsort(squared, axis=1, kind="stable")[:, :10])

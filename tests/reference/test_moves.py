"""The reference's moves: they carry all the mass, sum to the distance, and give it back after their common part."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordferry.kernels import reference

VECTORS = np.random.default_rng(3).normal(size=(8, 3))
COST = reference.euclidean_cost(VECTORS)


def shares(counts: dict[int, int]) -> dict[int, float]:
    return {word: count / sum(counts.values()) for word, count in counts.items()}


BAGS = st.dictionaries(st.integers(0, 7), st.integers(1, 4), min_size=1, max_size=6).map(shares)


def sent(moves: list[reference.Move]) -> dict[int, float]:
    words = {move.source for move in moves}
    return {word: math.fsum(move.mass for move in moves if move.source == word) for word in words}


@given(BAGS, BAGS, st.sampled_from(["keep", "omr", "residual"]))
def test_each_word_sends_all_its_mass(x, y, overlap):
    plans = [reference.one_way(x, y, COST, overlap), reference.wmd_moves(x, y, COST, overlap)]
    if overlap != "keep":
        plans.append(reference.act_moves(x, y, COST, overlap)["left"])
    for moves in plans:
        assert sent(moves) == pytest.approx(x, abs=1e-9)
        assert all(move.mass >= 0 for move in moves)
        assert all(move.distance == pytest.approx(COST(move.source, move.target)) for move in moves)


@given(BAGS, BAGS)
def test_moves_by_word_are_the_textbook_formulas(x, y):
    words = range(8)
    a, b = (np.array([bag.get(i, 0.0) for i in words]) for bag in (x, y))
    assert reference.l1(x, y) == pytest.approx(np.abs(a - b).sum())
    assert reference.cosine(x, y) == pytest.approx(1 - a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-12)
    assert reference.wcd(x, y, VECTORS) == pytest.approx(np.linalg.norm((a - b) @ VECTORS), abs=1e-12)


@given(BAGS, BAGS)
def test_a_relaxation_is_written_out(x, y):
    """Equation (5) as one line, beside the list of moves."""
    plain = sum(mass * min(COST(i, j) for j in y) for i, mass in x.items())
    assert reference.total(reference.one_way(x, y, COST)) == pytest.approx(plain)
    both = max(plain, sum(mass * min(COST(j, i) for i in x) for j, mass in y.items()))
    assert reference.rwmd(x, y, COST, "keep") == pytest.approx(both)


def test_by_hand():
    """Two words on a line at 0 and 3, a third at 1."""
    cost = reference.euclidean_cost(np.array([[0.0], [3.0], [1.0]]))
    x, y = {0: 0.5, 1: 0.5}, {0: 0.25, 2: 0.75}
    assert sorted(reference.wmd_moves(x, y, cost)) == [(0, 0, 0.25, 0.0), (0, 2, 0.25, 1.0), (1, 2, 0.5, 2.0)]
    assert reference.wmd(x, y, cost) == 1.25
    assert reference.one_way(x, y, cost) == [(0, 0, 0.5, 0.0), (1, 2, 0.5, 2.0)]
    assert reference.one_way(x, y, cost, "omr") == [(0, 0, 0.25, 0.0), (0, 2, 0.25, 1.0), (1, 2, 0.5, 2.0)]

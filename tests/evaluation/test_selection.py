"""Folds, the 1 % rule, and neighbours shared by folds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordferry.errors import InputError
from wordferry.judge.selection import choose_k, choose_r, fold_neighbours, folds, validation_mask


def test_folds_have_nearly_equal_sizes_and_follow_the_seed():
    fold = folds(["x"] * 23, 5, seed=3)
    assert sorted(np.bincount(fold).tolist()) == [4, 4, 5, 5, 5]
    assert np.array_equal(fold, folds(["x"] * 23, 5, seed=3))
    assert not np.array_equal(fold, folds(["x"] * 23, 5, seed=4))


def test_stratified_folds_share_each_class_evenly():
    labels = np.array(["a"] * 12 + ["b"] * 7 + ["c"] * 3)
    fold = folds(labels, 5, stratified=True)
    for name in "abc":
        counts = np.bincount(fold[labels == name], minlength=5)
        assert counts.max() - counts.min() <= 1
    assert np.ptp(np.bincount(fold)) <= 1


def test_plain_folds_do_not_look_at_labels():
    assert np.array_equal(folds(["a"] * 10), folds(list("abababcccc")))


def test_impossible_folds_are_refused():
    with pytest.raises(InputError, match=r"2 \.\. 3"):
        folds(["a"] * 3, 5)
    with pytest.raises(InputError, match="got 1"):
        folds(["a"] * 3, 1)


@pytest.mark.parametrize(
    ("errors", "chosen"),
    [
        ({1: 10.2, 2: 10.0, 4: 10.0}, 2),
        ({1: 10.1, 2: 10.0}, 1),  # exactly 1 % above the best is allowed
        ({1: 10.11, 2: 10.0}, 2),
        ({1: 3.0, 16: 2.99, 128: 2.97}, 16),  # 3.0 > 2.97 * 1.01 = 2.9997
        ({8: 0.0, 4: 0.1, 16: 0.0}, 8),  # best 0: nothing above it is within 1 % of it
        ({64: 5.0}, 64),
    ],
)
def test_the_one_percent_rule(errors, chosen):
    assert choose_r(errors) == chosen


def test_the_rule_needs_errors():
    with pytest.raises(InputError, match="at least one r"):
        choose_r({})
    with pytest.raises(InputError, match="finite"):
        choose_r({1: float("nan")})


def test_the_smallest_of_equal_k_wins():
    assert choose_k({1: 5.0, 3: 4.0, 5: 4.0}) == 3


def brute_force(distances, fold, k):
    result = []
    for i in range(len(fold)):
        others = [j for j in range(len(fold)) if fold[j] != fold[i]]
        others.sort(key=lambda j: (distances[i, j], j))
        result.append((others + [-1] * k)[:k])
    return result


@given(st.integers(2, 24), st.integers(2, 5), st.integers(1, 6), st.integers(1, 5), st.integers(0, 99))
def test_fold_neighbours_equal_brute_force_with_ties(documents, number, k, rows, seed):
    number = min(number, documents)
    rng = np.random.default_rng(seed)
    D = rng.integers(0, 4, (documents, documents)).astype(np.float32)  # few values: many ties
    D = np.minimum(D, D.T)
    fold = folds(np.zeros(documents), number, seed=seed)
    found = fold_neighbours(lambda a, b: D[np.ix_(a, b)], fold, k, rows=rows)
    assert found.indices.tolist() == brute_force(D, fold, k)
    kept = found.indices >= 0
    assert np.array_equal(found.distances[kept], D[np.nonzero(kept)[0], found.indices[kept]])
    assert np.isinf(found.distances[~kept]).all()


def test_each_pair_is_computed_at_most_once_and_never_within_a_fold():
    fold = folds(np.zeros(40), 5)
    seen = np.zeros((40, 40), dtype=int)

    def block(a, b):
        seen[np.ix_(a, b)] += 1
        return np.abs(a[:, None] - b).astype(np.float32)

    fold_neighbours(block, fold, 19, rows=3)
    both = seen + seen.T
    assert np.array_equal(both, (fold[:, None] != fold).astype(int))


def test_neighbours_at_infinite_distance_are_kept_apart_from_missing_places():
    D = np.array([[0, np.inf, 1], [np.inf, 0, np.inf], [1, np.inf, 0]], dtype=np.float32)
    found = fold_neighbours(lambda a, b: D[np.ix_(a, b)], np.array([0, 1, 1]), 3)
    assert found.indices.tolist() == [[2, 1, -1], [0, -1, -1], [0, -1, -1]]
    assert found.distances[0].tolist() == [1.0, np.inf, np.inf]


def test_validation_data_are_a_seeded_fifth():
    mask = validation_mask(50)
    assert mask.sum() == 10
    assert np.array_equal(mask, validation_mask(50))
    assert validation_mask(2).sum() == 1
    with pytest.raises(InputError, match="at least 2"):
        validation_mask(1)

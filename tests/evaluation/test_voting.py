"""The k-NN rule of the paper on cases small enough to do by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordferry.errors import InputError
from wordferry.judge.voting import class_numbers, decide, error_rate, halvings, vote, vote_by_gap

A, B, C = 0, 1, 2


def test_nineteen_is_halved_as_in_the_paper():
    assert halvings(19) == [19, 9, 4, 2, 1]
    assert halvings(1) == [1]


@pytest.mark.parametrize(
    ("neighbours", "k", "winner", "used"),
    [
        ([A, B, B], 3, B, 3),  # a clear majority
        ([A, B, B, A], 4, A, 1),  # 2:2, then 1:1, then the nearest
        ([B, B, A, A], 4, B, 2),  # 2:2, then 2:0
        ([A, B, C], 3, A, 1),  # 1:1:1, 3 // 2 = 1
        ([C, A, A, B, B, A, B, C, C], 9, A, 4),  # 3:3:3, then of 4: C A A B -> A leads
        ([A] * 9 + [B] * 9 + [C], 19, A, 9),  # 9:9:1 at 19, then 9:0 at 9
        ([A, B, B, B, B], 2, A, 1),  # only k places count: 1:1, then the nearest
        ([A, B, B, -1, -1], 19, B, 3),  # fewer than k neighbours: all of them vote
        ([A, B, -1, -1, -1], 19, A, 1),  # and halving starts from what there is: 2, 1
    ],
)
def test_votes_by_hand(neighbours, k, winner, used):
    votes = vote([neighbours], 3, k)
    assert votes.winner.tolist() == [winner]
    assert votes.used.tolist() == [used]
    assert votes.shares[0].argmax() == winner
    assert votes.shares[0].sum() == pytest.approx(1.0)


def test_nobody_to_ask_is_no_class():
    votes = vote([[-1, -1], [B, -1]], 2)
    assert votes.winner.tolist() == [-1, B]
    assert votes.shares[0].tolist() == [0.0, 0.0]


@given(st.lists(st.lists(st.integers(0, 3), min_size=7, max_size=7), min_size=1, max_size=8), st.integers(1, 9))
def test_rows_are_independent_and_follow_the_plain_rule(rows, k):
    votes = vote(rows, 4, k)
    for i, row in enumerate(rows):
        size = min(k, len(row))
        while True:
            counts = np.bincount(row[:size], minlength=4)
            if (counts == counts.max()).sum() == 1:
                break
            size //= 2
        assert votes.winner[i] == counts.argmax()
        assert votes.used[i] == size


def test_wrong_input_is_named():
    with pytest.raises(InputError, match="at least 1"):
        vote([[0]], 1, k=0)
    with pytest.raises(InputError, match=r"-1 \.\. 1"):
        vote([[2]], 2)
    with pytest.raises(InputError, match="row per query"):
        vote([0, 1], 2)


def test_error_rate_counts_missing_predictions_as_wrong():
    assert error_rate([0, 1, 1, 0], [0, 1, 0, -1]) == 50.0
    with pytest.raises(InputError, match="same length"):
        error_rate([0], [0, 1])


def test_class_numbers_are_sorted():
    numbers, names = class_numbers(["b", "a", "b"])
    assert numbers.tolist() == [1, 0, 1]
    assert names == ["a", "b"]


@pytest.mark.parametrize(
    ("neighbours", "distances", "k", "winner", "shares"),
    [
        ([A, B, B, B], [0.1, 0.8, 0.9, 1.0], 4, A, [0.75, 0.25]),  # 0.9 against 0.2 + 0.1 + 0
        ([A, B, B, C], [0.5, 0.6, 0.7, 1.0], 4, B, [5 / 12, 7 / 12]),  # 0.5 against 0.4 + 0.3
        ([A, B, B, C], [0.5, 0.6, 0.7, 1.0], 2, A, [1, 0]),  # the last of k has no vote
        ([A, B, B, -1], [1.0, 1.0, 1.0, np.inf], 4, B, [1 / 3, 2 / 3]),  # equally far: all alike
        ([B, A, A, C], [0.0, 0.5, 0.5, 1.0], 4, A, [0.5, 0.25]),  # 1:1 by gaps, so that numbers decide
        ([A, -1, -1, -1], [2.0, np.inf, np.inf, np.inf], 4, A, [1, 0]),
    ],
)
def test_votes_by_the_gap_to_the_last(neighbours, distances, k, winner, shares):
    votes = vote_by_gap([neighbours], [distances], 3, k)
    assert votes.winner.tolist() == [winner]
    np.testing.assert_allclose(votes.shares[0, :2], shares, atol=1e-12)
    assert votes.shares[0].sum() == pytest.approx(1.0)


def test_nobody_to_ask_is_no_class_by_gaps_either():
    votes = vote_by_gap([[-1, -1], [B, A]], [[np.inf, np.inf], [0.1, 0.2]], 2, 2)
    assert votes.winner.tolist() == [-1, B]
    assert votes.shares.tolist() == [[0.0, 0.0], [0.0, 1.0]]


def test_votings():
    assert decide([[A, B, B]], [[0.0, 0.9, 1.0]], 2, 3, "gap").winner.tolist() == [A]
    assert decide([[A, B, B]], [[0.0, 0.9, 1.0]], 2, 3, "majority").winner.tolist() == [B]
    with pytest.raises(InputError, match="voting must be one of 'gap', 'majority'; got 'all'"):
        decide([[A]], [[0.0]], 2, 1, "all")

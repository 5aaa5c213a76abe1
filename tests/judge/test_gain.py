"""nDCG: values worked out by hand, its bounds, and the same as another implementation's."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordferry.errors import InputError
from wordferry.judge.gain import ndcg

IDS = "abcdefghij"
GRADES = st.dictionaries(st.sampled_from(IDS), st.integers(0, 3), min_size=1).filter(lambda g: max(g.values()) > 0)
ORDERS = st.permutations(IDS).flatmap(lambda ids: st.integers(0, len(ids)).map(lambda n: ids[:n]))


def test_by_hand() -> None:
    grades = {"a": 2, "b": 1}
    best = 2 + 1 / math.log2(3)
    assert ndcg(["a", "b"], grades) == 1
    assert ndcg(["b", "a"], grades) == pytest.approx((1 + 2 / math.log2(3)) / best)
    assert ndcg(["x", "y", "a"], grades) == pytest.approx((2 / math.log2(4)) / best)
    assert ndcg(["x"], grades) == ndcg([], grades) == 0
    assert ndcg(["x", "a"], grades, k=1) == 0
    assert ndcg(["b"], grades, k=1) == 0.5


@given(ORDERS, GRADES, st.integers(1, 12))
def test_bounds_and_the_best_order(found: list[str], grades: dict[str, int], k: int) -> None:
    assert 0 <= ndcg(found, grades, k) <= 1 + 1e-12
    best = sorted(grades, key=lambda id: -grades[id])
    assert ndcg(best, grades, k) == pytest.approx(1)


@given(ORDERS.filter(bool), GRADES, st.integers(1, 12))
def test_the_same_as_ir_measures(found: list[str], grades: dict[str, int], k: int) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    run = {"q": {id: float(len(found) - place) for place, id in enumerate(found)}}
    expected = ir_measures.calc_aggregate([ir_measures.nDCG @ k], {"q": grades}, run)[ir_measures.nDCG @ k]
    assert ndcg(found, grades, k) == pytest.approx(expected)


def test_refused() -> None:
    with pytest.raises(InputError, match="at least 1"):
        ndcg(["a"], {"a": 1}, 0)
    with pytest.raises(InputError, match="once"):
        ndcg(["a", "a"], {"a": 1})
    with pytest.raises(InputError, match="above 0"):
        ndcg(["a"], {"a": 0})

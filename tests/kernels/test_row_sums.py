"""What documents weigh, by the kernel and by NumPy, to the last bit; and arrays that lead nowhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordferry.kernels import lists

BAGS = st.lists(st.dictionaries(st.integers(0, 9), st.integers(1, 255), max_size=6), max_size=20)
TYPES = [(word, count) for word in (np.uint16, np.int32) for count in (np.uint8, np.uint16, np.int32)]


def arrays(bags: list[dict[int, int]], kinds: tuple[Any, Any] = (np.uint16, np.uint8)) -> tuple[Any, Any, Any]:
    words = np.array([word for bag in bags for word in bag], dtype=kinds[0])
    counts = np.array([count for bag in bags for count in bag.values()], dtype=kinds[1])
    return np.cumsum([0, *map(len, bags)]).astype(np.int64), words, counts


def stored(rows: tuple[Any, Any, Any]) -> lists.StoredDocuments:
    """Documents by row, as they are; their lists, which sums do not look at, name no word."""
    empty = np.zeros(len(rows[0]), np.int64), np.zeros(0, np.int32), np.zeros(0, np.uint8)
    return lists.StoredDocuments(lists.build(*empty).view, *rows)


@given(BAGS, st.integers(0, 1000), st.sampled_from(TYPES), st.booleans(), st.sampled_from([1, 2]))
def test_sums_are_those_of_numpy(
    bags: list[dict[int, int]], seed: int, kinds: tuple[Any, Any], squared: bool, threads: int
) -> None:
    weights = np.random.default_rng(seed).random(10) * 3
    weights[seed % 10] = 0.0
    indptr, words, counts = arrays(bags, kinds)
    sums = stored((indptr, words, counts)).sums(weights, squared, lists.COUNTS, threads)
    values = counts * weights[words]
    rows = np.repeat(np.arange(len(bags)), np.diff(indptr))
    wanted = np.bincount(rows, values * values if squared else values, minlength=len(bags))
    np.testing.assert_array_equal(sums, wanted)


@given(BAGS, st.integers(0, 1000), st.sampled_from(TYPES), st.sampled_from(["logarithm", "saturation"]))
def test_repeated_words_may_count_less(
    bags: list[dict[int, int]], seed: int, kinds: tuple[Any, Any], growth: str
) -> None:
    """As the formulas say, and a word that stands there once counts 1 to the last bit."""
    rng = np.random.default_rng(seed)
    weights, room = rng.random(10) * 3, rng.random(len(bags)) * 5
    factor = 1 if kinds[1] == np.uint8 else 1 + seed % 3 * 100
    bags = [{word: factor * count for word, count in bag.items()} for bag in bags]
    indptr, words, counts = arrays(bags, kinds)
    rows = np.repeat(np.arange(len(bags)), np.diff(indptr))
    numbers = counts.astype(float)
    counted = 1 + np.log(numbers) if growth == "logarithm" else numbers * (1 + room[rows]) / (numbers + room[rows])
    repeats = lists.repeats(growth, room if growth == "saturation" else None)
    sums = stored((indptr, words, counts)).sums(weights, False, repeats, 1)
    np.testing.assert_allclose(sums, np.bincount(rows, counted * weights[words], minlength=len(bags)), rtol=1e-14)
    once = stored(arrays([dict.fromkeys(bag, 1) for bag in bags], kinds))
    np.testing.assert_array_equal(once.sums(weights, False, lists.COUNTS, 1), once.sums(weights, False, repeats, 1))


@pytest.mark.parametrize("room", [[-1.0], [np.nan], [np.inf]])
def test_rooms_that_are_none_are_refused(room: list[float]) -> None:
    with pytest.raises(ValueError, match="room"):
        lists.repeats("saturation", np.array(room))
    with pytest.raises(ValueError, match="one value for each document"):
        stored(arrays([{1: 1}])).sums(np.ones(9), False, lists.repeats("saturation"), 1)


def test_more_rows_than_one_thread_takes_at_once() -> None:
    rows = 10_000
    bags = np.arange(rows + 1), (np.arange(rows) % 7).astype(np.uint16), np.ones(rows, np.uint8)
    np.testing.assert_array_equal(stored(bags).sums(np.arange(7.0), False, lists.COUNTS, 2), np.arange(rows) % 7)


def test_only_allowed_rows_are_summed() -> None:
    bags = stored(arrays([{1: 1, 2: 3}, {}, {4: 1}, {1: 2}, {3: 1}, {2: 1}, {5: 7}]))
    weights = np.arange(7.0) ** 0.5
    whole = bags.sums(weights, False, lists.COUNTS, 1)
    for allowed in np.random.default_rng(0).random((20, 7)) < 0.5:
        found = bags.sums(weights, False, lists.COUNTS, 1, allowed)
        np.testing.assert_array_equal(found, np.where(allowed, whole, 0))
    with pytest.raises(ValueError, match="for each document"):
        bags.sums(weights, False, lists.COUNTS, 1, np.ones(6, dtype=bool))


@pytest.mark.parametrize("indptr", [[0, 3], [-1, 2], [2, 1], [0, 1 << 40]])
def test_rows_outside_of_the_arrays_are_refused(indptr: list[int]) -> None:
    _, words, counts = arrays([{1: 1, 2: 1}])
    with pytest.raises(ValueError, match="outside"):
        stored((np.array(indptr), words, counts)).sums(np.ones(10), False, lists.COUNTS, 1)


def test_words_without_a_weight_are_refused() -> None:
    with pytest.raises(ValueError, match="no weight"):
        stored(arrays([{1: 1}, {9: 1}])).sums(np.ones(9), False, lists.COUNTS, 1)
    with pytest.raises(ValueError, match="no weight"):
        stored(arrays([{-1: 1}], (np.int32, np.uint8))).sums(np.ones(9), False, lists.COUNTS, 1)


def test_arrays_of_other_documents_are_refused() -> None:
    rows = arrays([{1: 1}, {2: 1}])
    with pytest.raises(ValueError, match="same documents"):
        lists.StoredDocuments(lists.build(*arrays([{1: 1}])).view, *rows)
    with pytest.raises(ValueError, match="one count for each word"):
        lists.StoredDocuments(lists.build(*rows).view, rows[0], rows[1], rows[2][:-1])

"""Neighbours found in parts are those of the undivided collection."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordferry.base.arrays import Neighbors
from wordferry.errors import InputError

FAR = [0.0, 0.25, 0.5, 1.0, np.inf]  # few values: many ties; inf is the distance to an empty document


def nearest(distances: np.ndarray, numbers: np.ndarray, k: int, budget: int | None = None) -> Neighbors:
    """The k nearest of some columns, plainly; with a budget only that many of them have been looked at."""
    places = np.full((len(distances), k), -1)
    values = np.full((len(distances), k), np.inf, dtype=np.float32)
    proved = np.zeros((len(distances), k), dtype=bool)
    for row, all_values in enumerate(distances):
        order = sorted(numbers.tolist(), key=lambda j: (all_values[j], j))
        seen = numbers.tolist() if budget is None else numbers.tolist()[:budget]
        found = [j for j in order if j in seen][:k]
        places[row, : len(found)] = found
        values[row, : len(found)] = all_values[found]
        agree = [
            j < len(found) and found[j] == order[j] if j < len(order) else len(found) == len(order) for j in range(k)
        ]
        proved[row] = np.logical_and.accumulate(agree)
    counts = {"pairs": len(distances) * len(numbers), "solved": 0}
    return Neighbors(places, values, len(numbers), counts, None if budget is None else proved)


@st.composite
def divided(draw):
    """Distances, and the numbers of the documents in each part, in any order of parts."""
    documents, queries = draw(st.integers(1, 20)), draw(st.integers(0, 3))
    values = draw(st.lists(st.sampled_from(FAR), min_size=documents * queries, max_size=documents * queries))
    owner = np.array(draw(st.lists(st.integers(0, 4), min_size=documents, max_size=documents)))
    parts = draw(st.permutations([np.flatnonzero(owner == part) for part in range(5)]))
    return np.array(values, dtype=np.float32).reshape(queries, documents), parts


@given(divided(), st.integers(1, 25))
def test_any_division_in_any_order_gives_the_undivided_answer(case, k):
    distances, parts = case
    whole = nearest(distances, np.arange(distances.shape[1]), k)
    merged = Neighbors.merge([nearest(distances, part, k) for part in parts], k)
    assert np.array_equal(merged.indices, whole.indices)
    assert np.array_equal(merged.distances, whole.distances)
    assert merged.distances.dtype == np.float32
    assert (merged.solved, merged.counts, merged.proved) == (whole.solved, whole.counts, None)


@given(divided(), st.integers(1, 25))
def test_merging_merged_parts_is_merging_them_all(case, k):
    distances, parts = case
    found = [nearest(distances, part, k) for part in parts]
    at_once, in_steps = Neighbors.merge(found, k), found[0]
    for part in found[1:]:
        in_steps = Neighbors.merge([in_steps, part], k)
    assert np.array_equal(at_once.indices, in_steps.indices)
    assert at_once.counts == in_steps.counts


@given(divided(), st.integers(1, 25), st.lists(st.integers(0, 6), min_size=5, max_size=5))
def test_what_is_proved_after_merging_is_the_full_answer(case, k, budgets):
    distances, parts = case
    whole = nearest(distances, np.arange(distances.shape[1]), k)
    merged = Neighbors.merge([nearest(distances, p, k, b) for p, b in zip(parts, budgets, strict=True)], k)
    assert np.array_equal(merged.indices[merged.proved], whole.indices[merged.proved])
    assert np.array_equal(merged.distances[merged.proved], whole.distances[merged.proved])
    unlimited = Neighbors.merge([nearest(distances, part, k, 99) for part in parts], k)
    assert unlimited.proved.all()


@given(divided(), st.integers(1, 6))
def test_renumbered_parts(case, k):
    """Each part numbers its own documents from 0."""
    distances, parts = case
    whole = nearest(distances, np.arange(distances.shape[1]), k)
    own = [nearest(distances[:, part], np.arange(len(part)), k).renumbered(part) for part in parts]
    assert np.array_equal(Neighbors.merge(own, k).indices, whole.indices)


def test_fewer_documents_than_places():
    part = Neighbors(np.array([[4]]), np.array([[0.5]], np.float32))
    merged = Neighbors.merge([part], 3)
    assert merged.indices.tolist() == [[4, -1, -1]]
    assert merged.distances.tolist() == [[0.5, np.inf, np.inf]]


def test_no_document_is_its_own_neighbour():
    near = Neighbors(np.array([[1, 0, 2], [1, 2, 0], [0, 1, 3]]), np.zeros((3, 3), np.float32))
    assert near.without_self().indices.tolist() == [[1, 2], [2, 0], [0, 1]]
    assert near.without_self(first=1).indices.tolist() == [[0, 2], [1, 0], [0, 1]]


def test_parts_that_do_not_fit_are_refused():
    part = Neighbors(np.zeros((2, 1), np.int64), np.zeros((2, 1), np.float32))
    with pytest.raises(InputError, match="at least one part"):
        Neighbors.merge([], 3)
    with pytest.raises(InputError, match="same queries"):
        Neighbors.merge([part, Neighbors(part.indices[:1], part.distances[:1])], 1)

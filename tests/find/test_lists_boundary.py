"""The kernels of word search refuse arrays that would lead them outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wordferry import _native
from wordferry.kernels import lists


def bags(**other: Any) -> list[Any]:
    parts = {
        "indptr": np.array([0, 2, 3]),
        "words": np.array([0, 1, 1], dtype=np.int32),
        "counts": np.array([1, 2, 1], dtype=np.int32),
        "group_of": np.array([0, 0], dtype=np.int32),
        "form_of": np.array([0, 1], dtype=np.uint16),
    }
    return list((parts | other).values())


@pytest.mark.parametrize(
    "wrong",
    [
        {"indptr": np.array([0, 2, 4])},
        {"indptr": np.array([1, 2, 3])},
        {"indptr": np.array([0, 3, 2])},
        {"words": np.array([0, 1, 2], dtype=np.int32)},
        {"words": np.array([0, -1, 1], dtype=np.int32)},
        {"counts": np.array([1, 0, 1], dtype=np.int32)},
        {"counts": np.array([1, 1], dtype=np.int32)},
        {"group_of": np.array([0, 1], dtype=np.int32)},
        {"form_of": np.array([0], dtype=np.uint16)},
    ],
)
def test_bags_that_lead_outside_are_refused(wrong: dict[str, Any]) -> None:
    sizes, df = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    _native.WordBags(*bags(), 1).count(sizes, df)
    assert (sizes.tolist(), df.tolist()) == ([3], [2])
    with pytest.raises(ValueError):
        _native.WordBags(*bags(**wrong), 1)


def test_lists_without_room_are_refused() -> None:
    two = [np.zeros(2, dtype=np.int32), np.zeros(2, dtype=np.uint16), np.zeros(2, dtype=np.uint16)]
    with pytest.raises(ValueError, match="room"):
        _native.WordBags(*bags(), 1).fill(*two)


def lists(**other: Any) -> Any:
    parts = {
        "starts": np.array([0, 2]),
        "documents": np.array([0, 1], dtype=np.int32),
        "forms": np.zeros(2, dtype=np.uint16),
        "counts": np.ones(2, dtype=np.uint16),
        "lengths": np.ones(2, dtype=np.int32),
    }
    return _native.WordLists(*(parts | other).values())


@pytest.mark.parametrize(
    "wrong",
    [
        {"starts": np.array([0, 3])},
        {"documents": np.array([0, 2], dtype=np.int32)},
        {"documents": np.array([1, 0], dtype=np.int32)},
        {"forms": np.zeros(1, dtype=np.uint16)},
        {"lengths": np.ones(1, dtype=np.int32)},
    ],
)
def test_lists_that_lead_outside_are_refused(wrong: dict[str, Any]) -> None:
    lists()
    with pytest.raises(ValueError):
        lists(**wrong)


@pytest.mark.parametrize("wrong", ["group", "mask", "out", "forms"])
def test_questions_that_lead_outside_are_refused(wrong: str) -> None:
    group = np.array([1 if wrong == "group" else 0], dtype=np.int32)
    form = np.zeros(2 if wrong == "forms" else 1, dtype=np.int32)
    mask = np.ones(3, dtype=np.uint8) if wrong == "mask" else None
    scores = np.empty(2 if wrong == "out" else 1)
    with pytest.raises(ValueError):
        lists().best(group, form, np.ones(1), 0.5, 1.0, 1.0, mask, np.empty(1, dtype=np.int64), scores)


@pytest.mark.parametrize("wrong", ["stems", "counts", "weight", "found"])
def test_neighbours_that_lead_outside_are_refused(wrong: str) -> None:
    def call(which: str) -> None:
        rows = _native.StemRows(
            np.array([0, 1, 2]),
            np.array([0, 3 if which == "stems" else 0], dtype=np.int32),
            np.array([1, 0 if which == "counts" else 1], dtype=np.int32),
            np.array([1.0, np.nan if which == "weight" else 1.0]),
            1,
        )
        rows.nearest(np.empty((1 if which == "found" else 2, 1), dtype=np.int64), np.empty((2, 1)))

    call("nothing")
    with pytest.raises(ValueError):
        call(wrong)


def test_a_mask_of_another_type_is_refused_as_a_type() -> None:
    """Found by fuzzing: it was a RuntimeError that nobody expects."""
    bags = (np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.uint8))
    stored, rows = related_lists.build(*bags).view, _native.StoredRows(*bags)
    part = _native.StoredPart(stored, stored, rows, rows, np.ones(1, np.float32))
    none, small = np.zeros(0, np.int32), np.zeros(0, np.uint8)
    rest = [none, none, small, small, np.zeros(0), 0.5, 1.0, 0.1]
    with pytest.raises(TypeError):
        _native.best_by_words([part], *rest, np.zeros(1), np.zeros(1, np.int64), np.zeros(1))

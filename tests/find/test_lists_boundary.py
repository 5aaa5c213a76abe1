"""The kernels of word search refuse arrays that would lead them outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wordferry import _native
from wordferry.kernels import lists


def stored(**other: Any) -> Any:
    """Two documents of two words."""
    arrays = {
        "indptr": np.array([0, 2, 3]),
        "words": np.array([0, 1, 1], dtype=np.int32),
        "counts": np.array([1, 2, 1], dtype=np.uint8),
    }
    made = lists.build(*arrays.values())
    return _native.StoredDocuments(made.view, *(arrays | other).values())


def documents(**other: Any) -> Any:
    return _native.WordDocuments(stored(**other), np.array([3, 1], np.float32))


def best(part: Any, **other: Any) -> tuple[Any, ...]:
    given = {
        "slots": np.zeros(2, np.int32),
        "words": np.arange(2, dtype=np.int32),
        "is_exact": np.ones(2, np.uint8),
        "factors": np.ones(1),
        "stem": 0.5,
        "floor": 1.0,
        "slope": 0.1,
        "allowed": None,
        "k": 2,
    }
    *query, allowed, k = (given | other).values()
    return tuple(_native.best_by_words([part], _native.FormQuery(*query), allowed, k))


@pytest.mark.parametrize(
    "wrong",
    [
        {"indptr": np.array([0, 2, 4])},
        {"indptr": np.array([-1, 2, 3])},
        {"indptr": np.array([0, 3, 2])},
        {"indptr": np.array([0, 2, 1 << 40])},
    ],
)
def test_bags_that_lead_outside_are_refused(wrong: dict[str, Any]) -> None:
    assert len(best(documents())[0]) == 2
    with pytest.raises(ValueError, match="outside"):
        best(documents(**wrong))
    with pytest.raises(ValueError, match="outside"):
        near(documents(**wrong))


@pytest.mark.parametrize(
    "wrong",
    [
        {"indptr": np.array([0, 2])},
        {"indptr": np.zeros(0, np.int64)},
        {"counts": np.array([1, 1], dtype=np.uint8)},
        {"words": np.array([0, 1], dtype=np.uint16)},
    ],
)
def test_arrays_that_do_not_agree_are_refused(wrong: dict[str, Any]) -> None:
    stored()
    with pytest.raises(ValueError):
        stored(**wrong)


def test_lengths_of_other_documents_are_refused() -> None:
    with pytest.raises(ValueError, match="one length for each document"):
        _native.WordDocuments(stored(), np.ones(3, np.float32))


@pytest.mark.parametrize(
    "wrong",
    [
        {"slots": np.array([0, 1], np.int32)},
        {"slots": np.array([0, -1], np.int32)},
        {"words": np.zeros(1, np.int32)},
        {"is_exact": np.ones(3, np.uint8)},
        {"factors": np.array([-1.0])},
        {"factors": np.array([np.nan])},
        {"stem": -0.5},
        {"floor": np.nan},
        {"allowed": np.ones(3, bool)},
        {"k": -1},
    ],
)
def test_questions_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        best(documents(), **wrong)


@pytest.mark.parametrize("word", [-1, 2, 2**31 - 1])
def test_words_that_no_document_has_find_nothing(word: int) -> None:
    assert best(documents(), words=np.full(2, word, np.int32))[0].tolist() == []


def near(part: Any, **other: Any) -> None:
    given = {
        "group_of": np.zeros(2, np.int32),
        "idf": np.ones(1),
        "rows": np.arange(2),
        "wanted": np.zeros(1, np.int32),
        "m": 1,
    }
    _native.near_rows([part], *(given | other).values())


@pytest.mark.parametrize(
    "wrong",
    [
        {"group_of": np.ones(2, np.int32)},
        {"group_of": np.zeros(1, np.int32)},
        {"rows": np.array([0, 2])},
        {"wanted": np.zeros(2, np.int32)},
        {"m": -1},
    ],
)
def test_rows_that_lead_outside_are_refused(wrong: dict[str, Any]) -> None:
    near(documents())
    with pytest.raises(ValueError):
        near(documents(), **wrong)


@pytest.mark.parametrize("wrong", ["stems", "counts", "weight", "m"])
def test_neighbours_that_lead_outside_are_refused(wrong: str) -> None:
    def call(which: str) -> None:
        _native.nearest_among(
            np.array([0, 1, 2]),
            np.array([0, 3 if which == "stems" else 0], dtype=np.int32),
            np.array([1, 0 if which == "counts" else 1], dtype=np.int32),
            np.array([1.0, np.nan if which == "weight" else 1.0]),
            1,
            -1 if which == "m" else 1,
        )

    call("nothing")
    with pytest.raises(ValueError):
        call(wrong)


@pytest.mark.parametrize("starts", [[0, 3], [1, 0], [-1, 2], []])
def test_stems_that_lead_outside_are_refused(starts: list[int]) -> None:
    made = lists.build(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.uint8))
    with pytest.raises(ValueError, match="starts"):
        _native.stem_frequencies(made.view, np.array(starts, np.int64), np.zeros(2, np.int32))


def test_a_mask_of_another_type_is_refused_as_a_type() -> None:
    """Found by fuzzing: it was a RuntimeError that nobody expects."""
    with pytest.raises(TypeError):
        best(documents(), allowed=np.zeros(2))

"""Filters choose before the nearest are chosen, and compare only what can be compared."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordferry
from tests.index.collection import documents
from wordferry.errors import InputError
from wordferry.index import Index

Make = Callable[..., Index]
ROWS: list[dict[str, Any]] = [
    {"n": 1},
    {"n": 2.5},
    {"n": "2"},
    {"n": True},
    {"n": None},
    {},
    {"n": "b", "a.b": 1},
    {"n": -3, "o'k": "x"},
    {"n": 2, "ä": "ö"},
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, emb: Any) -> Any:
    with Index.create(tmp_path_factory.mktemp("filters") / "index", embeddings=emb) as made:
        made.add([{"id": str(i), "text": f"w{i:02d}", "metadata": row, "label": "l"} for i, row in enumerate(ROWS)])
        yield made


def found(index: Index, filter: dict[str, Any]) -> list[int]:
    return sorted(int(hit.id) for hit in index.similar("w01 w05", k=100, filter=filter))


@pytest.mark.parametrize(
    ("filter", "wanted"),
    [
        ({"n": 1}, [0]),
        ({"n": 2.0}, [8]),
        ({"n": "2"}, [2]),
        ({"n": True}, [3]),
        ({"n": False}, []),
        ({"n": None}, [4]),
        ({"n": {"ne": 1}}, [1, 2, 3, 4, 5, 6, 7, 8]),
        ({"n": {"in": [1, "b", None]}}, [0, 4, 6]),
        ({"n": {"in": []}}, []),
        ({"n": {"gt": 1}}, [1, 8]),
        ({"n": {"gte": 1, "lt": 2.5}}, [0, 8]),
        ({"n": {"lte": 1}}, [0, 7]),
        ({"n": {"gt": "a"}}, [6]),
        ({"n": {"exists": True}}, [0, 1, 2, 3, 4, 6, 7, 8]),
        ({"n": {"exists": False}}, [5]),
        ({"a.b": 1}, [6]),
        ({"o'k": "x"}, [7]),
        ({"ä": "ö"}, [8]),
        ({"n": {"gte": 1}, "ä": {"exists": True}}, [8]),
        ({"label": "l", "id": {"in": ["3", "4"]}}, [3, 4]),
        ({"label": {"exists": False}}, []),
        ({}, list(range(9))),
    ],
)
def test_filter(index: Index, filter: dict[str, Any], wanted: list[int]) -> None:
    assert found(index, filter) == wanted


_OPERATORS = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le, "eq": operator.eq}


@given(st.sampled_from(sorted(_OPERATORS)), st.one_of(st.integers(-4, 4), st.floats(-4, 4), st.sampled_from("2bz")))
def test_filter_equals_python(index: Index, name: str, value: Any) -> None:
    def passes(row: dict[str, Any]) -> bool:
        has = row.get("n")
        same = isinstance(has, str) == isinstance(value, str) and has is not None and not isinstance(has, bool)
        return same and bool(_OPERATORS[name](has, value))

    assert found(index, {"n": {name: value}}) == [i for i, row in enumerate(ROWS) if passes(row)]


@pytest.mark.parametrize(
    ("filter", "message"),
    [
        ({"n": {"above": 3}}, "unknown operator 'above'. Choose one of: eq, ne"),
        ({"n": {}}, "no condition"),
        ({"n": {"in": "abc"}}, "takes a list"),
        ({"n": {"gt": None}}, "compares numbers or text"),
        ({"n": {"exists": 1}}, "true or false"),
        ({"n": [1]}, "a value is a str"),
        ({"n": float("nan")}, "finite"),
        ({'a"b': 1}, "metadata key"),
        ([("n", 1)], "must be a mapping"),
        ({"missing": {"ne": 3}}, "no document has a field 'missing'. The fields are: 'a.b', 'id', 'label', 'n'"),
    ],
)
def test_wrong_filter(index: Index, filter: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        index.similar("w01", filter=filter)


def test_filter_is_applied_before_the_nearest_are_chosen(make: Make) -> None:
    index = make()
    index.add(documents(60))
    everything = index.similar("w01 w02 w03", k=60)
    wanted = [hit.id for hit in everything if hit.metadata["topic"] == "law" and hit.metadata["year"] >= 2001][:4]
    hits = index.similar("w01 w02 w03", k=4, filter={"topic": "law", "year": {"gte": 2001}})
    assert [hit.id for hit in hits] == wanted
    assert len(hits) == 4
    index.delete([wanted[0]])
    hits = index.similar("w01 w02 w03", k=4, filter={"topic": "law", "year": {"gte": 2001}})
    assert [hit.id for hit in hits][:3] == wanted[1:]


def test_ids_and_labels_are_found_by_the_numbers_that_they_are_written_as() -> None:
    with wordferry.Index.create() as index:
        index.add([{"id": 7, "text": "tea time", "label": 1}, {"id": "b", "text": "tea pot", "label": "2"}])
        index.add({"id": [9], "text": ["tea cup"], "label": [1]})
        index.add([{"id": "n", "text": "tea", "label": 0.5}, {"id": "t", "text": "tea", "label": float("nan")}])
        for label, ids in (
            (1, ["7", "9"]),
            ("1", ["7", "9"]),
            ({"in": [2, 0.5]}, ["b", "n"]),
            ({"ne": 1}, ["b", "n", "t"]),
        ):
            assert [hit.id for hit in index.page(filter={"label": label})] == ids
        assert [hit.id for hit in index.page(filter={"id": 7})] == ["7"]
        with pytest.raises(InputError, match="the label must be a text or a number, got list"):
            index.add([{"text": "tea", "label": ["a"]}])

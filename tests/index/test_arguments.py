"""Arguments that make no sense: our errors, in the words of the interface, and never a word about damage."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.index.collection import documents
from wordferry.errors import InputError, NotFound, WordferryError
from wordferry.index import Index

Make = Callable[..., Index]
SURROGATE = "w01 \ud800"


@pytest.fixture
def index(make: Make) -> Index:
    index = make()
    index.add(documents(30))
    return index


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"eq": value}
    return value


@pytest.mark.parametrize("id", [object(), None, 1.5, b"d1", "", ["d1"], SURROGATE])
def test_ids_that_are_none(index: Index, id: Any) -> None:
    with pytest.raises(InputError, match=r"an id is a str|not valid Unicode"):
        index.get(id)
    assert id not in index
    with pytest.raises(InputError):
        index.delete([id])


def test_large_whole_numbers_are_ids(index: Index) -> None:
    index.add([{"id": 2**70, "text": "w01"}, {"id": -3, "text": "w02"}])
    assert index.get(2**70).id == str(2**70)
    assert 2**70 in index
    assert -3 in index
    with pytest.raises(NotFound):
        index.get(2**71)
    assert 2**71 not in index
    assert index.delete([2**70, -3]) == 2
    assert index.delete(2**70, missing_ok=True) == 0


@pytest.mark.parametrize("limit", [1.5, "3", None, True, 0, -1, 2**70, float("nan")])
def test_wrong_limits(index: Index, limit: Any) -> None:
    if limit == 2**70:
        assert len(index.page(limit)) == 30  # more than there are is all there are
        return
    with pytest.raises(InputError, match=r"limit must be (a whole number, )?at least 1"):
        index.page(limit)


@pytest.mark.parametrize("after", [object(), 1.5, SURROGATE, b"x"])
def test_wrong_place_to_go_on(index: Index, after: Any) -> None:
    with pytest.raises(InputError):
        index.page(3, after=after)


def test_long_lists_of_values(index: Index) -> None:
    years = list(range(100_000))
    assert len(index.similar("w01", k=30, filter={"year": {"in": years}})) == 30
    assert index.similar("w01", k=30, filter={"year": {"in": years[:1990]}}) == []
    words = [f"x{i}" for i in range(50_000)]
    found = index.similar("w01", k=30, filter={"topic": {"in": [*words, "law"]}, "year": {"in": [1995.0, 2000.5]}})
    assert {hit.metadata["topic"] for hit in found} <= {"law"}
    assert {hit.metadata["year"] for hit in found} == {1995}
    assert len(index.similar("w01", k=30, filter={"id": {"in": [*words, "d3", "d4"]}})) == 2
    mixed = {"topic": {"in": ["law", 3, None, True, 2.5, "food"]}}
    assert {hit.metadata["topic"] for hit in index.similar("w01", k=30, filter=mixed)} == {"law", "food"}


@pytest.mark.parametrize(
    ("filter", "message"),
    [
        ({f"key{i}": 1 for i in range(2000)}, "at most 100 conditions, this one has 2000"),
        ({"k" * 2000: 1}, "key is at most 256 characters"),
        ({"topic": nested(1000)}, "a value is a str, finite number, bool or None"),
        ({"topic": {"in": [nested(2000)]}}, "a value is a str"),
        ({"topic": {"in": range(3)}}, "'in' takes a list"),
        ({"topic": {"in": ["x"] * 200_001}}, "at most 200,000 values"),
        ({"topic": "x" * 100_001}, "at most 100,000 characters"),
        ({"topic": SURROGATE}, "not valid Unicode"),
        ({"topic": {"in": [SURROGATE]}}, "not valid Unicode"),
        ({"\ud800": 1}, "not valid Unicode"),
        ({"year": 2**70}, "finite number"),
        ({"year": {"gte": 2**70}}, "finite number"),
    ],
)
def test_filters_out_of_bounds(index: Index, filter: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        index.similar("w01", filter=filter)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "document",
    [
        {"id": SURROGATE, "text": "w01"},
        {"id": "a", "text": SURROGATE},
        {"id": "a", "tokens": ["w01", "\udfff"]},
        {"id": "a", "text": "w01", "label": SURROGATE},
        {"id": "a", "text": "w01", "metadata": {"x": SURROGATE}},
        {"id": "a", "text": "w01", "metadata": {"\ud800": 1}},
        {"id": "a", "text": "w01", "metadata": {"x": 2**70}},
        {"id": "a", "text": "w01", "metadata": {"k" * 300: 1}},
        {"id": "a", "text": "w01", "metadata": {"x": nested(5000)}},
    ],
)
def test_documents_that_cannot_be_stored(index: Index, document: Any) -> None:
    with pytest.raises(InputError) as caught:
        index.add([document])
    assert "damaged" not in str(caught.value)
    assert len(str(caught.value)) < 1000
    assert len(index) == 30


def test_a_query_with_a_lone_surrogate(index: Index) -> None:
    """It is no letter, so it belongs to no word: the rest of the query is answered."""
    assert index.similar(SURROGATE, k=3) == index.similar("w01", k=3)


def test_no_child_keeps_the_lock(index: Index, tmp_path: Path) -> None:
    """A child of fork lives on; the parent closes, and the next writer may begin."""
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    try:
        index.close()
        with Index.open(tmp_path / "index") as other:
            other.add(["w01"])
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


def test_no_child_keeps_the_lock_of_a_parent_that_was_killed(index: Index, tmp_path: Path) -> None:
    index.close()
    reading, writing = os.pipe()
    parent = os.fork()
    if parent == 0:  # a process that takes the lock, forks, and is killed; its child lives on
        held = Index.open(tmp_path / "index")
        held.add(["w01"])
        if os.fork() == 0:
            os.write(writing, str(os.getpid()).encode())  # by now Python has told the package that it was forked
            time.sleep(60)
            os._exit(0)
        time.sleep(60)
        os._exit(0)
    grandchild = int(os.read(reading, 100))
    try:
        os.kill(parent, 9)
        os.waitpid(parent, 0)
        with Index.open(tmp_path / "index") as other:
            other.add(["w02"])
    finally:
        os.kill(grandchild, 9)
        os.close(reading)
        os.close(writing)


def test_a_child_does_not_take_the_lock_away(index: Index, tmp_path: Path) -> None:
    """The end of a child, however it comes, leaves the parent's lock as it is."""
    child = os.fork()
    if child == 0:
        index.__dict__.clear()
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    with Index.open(tmp_path / "index") as other, pytest.raises(WordferryError, match="is being written by"):
        other.add(["w01"])
    index.add(["w02"])

"""Documents that bring words which no document had: the graph of related words and all answers as if built at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordferry
from tests.index.collection import PLAIN, WORDS, assert_equals_brute_force, documents, embeddings
from wordferry.index import Index
from wordferry.index.storage.graph import Graphs
from wordferry.words.related import graph as graphs

Make = Callable[..., Index]
DISTANCES = ("rel-rwmd", "rel-wmd", "wmd", "rwmd")


def check_graph(index: Index) -> None:
    """The related words of the index are those of its words when they are found all at once."""
    found = index.related
    with index.backend.state() as (_, snapshot):
        pass
    assert found is not None
    wanted = wordferry.RelatedWords.build(index.embeddings.restrict(snapshot.terms.rows), index.config.r, "exact")
    np.testing.assert_array_equal(found.own, wanted.own)
    np.testing.assert_array_equal(found.own_distances, wanted.own_distances)
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(found.graph, name), getattr(wanted.graph, name))
    assert found.c_max == pytest.approx(wanted.c_max, rel=1e-7, nan_ok=True)
    assert found.fingerprint == wanted.fingerprint


def answers(index: Index, queries: list[str], **options: Any) -> list[list[tuple[str, float]]]:
    return [[(hit.id, hit.distance) for hit in hits] for hits in index.similar(queries, k=9, **options)]


@settings(max_examples=25, deadline=None)
@given(
    steps=st.lists(st.tuples(st.integers(1, 12), st.integers(1, len(WORDS))), min_size=2, max_size=5),
    many=st.sampled_from([1, 8, 1000]),
    seed=st.integers(0, 1000),
)
def test_words_that_come_in_steps(
    steps: list[tuple[int, int]], many: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Searched after each step, by the one who adds and by one who only reads; joined by adding or by searching."""
    place = tmp_path_factory.mktemp("new") / "index"
    queries = ["w01 w02 w03", "w40 w41 w59", "w05"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wordferry.index.local._MANY_WORDS", many)
        with (
            Index.create(place, embeddings=embeddings(), related=4, distance="rel-rwmd", **PLAIN) as index,
            Index.open(place) as reader,
        ):
            for step, (count, words) in enumerate(steps):
                some = documents(count, seed=seed + step, words=words)
                index.add([{**doc, "id": f"{step}-{doc['id']}"} for doc in some])
                assert_equals_brute_force(index, queries)
                check_graph(index)
                for options in ({}, {"weights": "idf", "unknown": "match"}):
                    assert answers(reader, queries, **options) == answers(index, queries, **options)
        with Index.open(place) as again:
            check_graph(again)
            assert_equals_brute_force(again, queries)


@pytest.mark.parametrize("distance", DISTANCES)
def test_every_distance_after_new_words(make: Make, distance: str) -> None:
    index = make()
    index.add(documents(20, words=25))
    index.similar("w01 w02", distance=distance)
    index.add([{**doc, "id": "new" + doc["id"]} for doc in documents(8, seed=8)])
    assert_equals_brute_force(index, ["w01 w50 w03", "w40", "w59 w58"], distance=distance)


def test_nothing_but_the_new_words_is_compared(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    index = make()
    index.add(documents(40, words=50))
    index.similar("w01 w02")

    def fail(*_: Any) -> Any:
        raise AssertionError("all related words were found anew")

    monkeypatch.setattr(graphs, "extend_lists", fail)
    monkeypatch.setattr("wordferry.kernels.native.union_graph", fail)
    index.add([{"id": "new", "text": "w51 w52 w01"}])
    assert index.similar("w51 w52", k=1)[0].id == "new"
    index.add([{"id": "newer", "text": "w53 w54"}])
    assert index.similar("w53 w54", k=1)[0].id == "newer"
    monkeypatch.undo()
    check_graph(index)


def test_many_new_words_are_joined_when_they_are_added(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """By an index that has been searched; the next search finds them there. One that only adds does nothing."""
    monkeypatch.setattr("wordferry.index.local._MANY_WORDS", 3)
    index = make()
    index.add(documents(60, words=50))
    made: list[int] = []
    real = Graphs._make

    def counted(self: Graphs, snapshot: Any, *rest: Any) -> Any:
        made.append(len(snapshot.terms))
        return real(self, snapshot, *rest)

    monkeypatch.setattr(Graphs, "_make", counted)
    index.add([{"id": "a", "text": "w50 w51 w52"}])
    assert made == []
    index.similar("w01")
    assert made == [53]
    index.add([{"id": "b", "text": "w53"}])
    assert made == [53]
    index.close()
    with Index.open(index.path) as again:
        again.similar("w01")
        again.add([{"id": "c", "text": "w54 w55 w56"}])
        assert made[-2:] == [54, 57]
        again.similar("w58 w01")
        assert made[-2:] == [54, 57]
        check_graph(again)


def test_a_given_graph_and_saved_ones_are_joined_to(tmp_path: Path) -> None:
    emb = embeddings()
    start = wordferry.RelatedWords.build(emb.restrict(WORDS[:30]), 4)
    with Index.create(tmp_path / "given", embeddings=emb, related=start, **PLAIN) as index:
        for step, words in enumerate(range(10, 60, 10)):
            index.add([{"id": f"d{step}", "text": " ".join(WORDS[words : words + 10])}])
            index.similar("w12 w44")
            check_graph(index)
    with Index.open(tmp_path / "given") as index:
        index.similar("w12 w44")
        check_graph(index)
        index.verify()
        index.delete(["d0"])
        index.compact()
        index.add(["w00 w01 w19 w59"])
        check_graph(index)
        index.verify()

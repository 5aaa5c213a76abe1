"""Searching through posting lists equals comparing with every document, bit by bit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import wordferry
from tests.index.collection import HISTORY, PLAIN, WORDS, embeddings, play
from tests.kernels.stored_lists import counts_of
from wordferry.index import Index
from wordferry.index.search import centroids, shortlist
from wordferry.index.search import lists as nearest
from wordferry.index.write import segment_writer as publish
from wordferry.kernels import lists, reference

Make = Callable[..., Index]
FREQUENT = st.sampled_from([0, 2, 10, 1000])
"""How rare a word may be and have bits instead of a list: no word, some, all."""


def everything(
    index: Index, query: str, k: int, overlap: str, allowed: Callable[[Any], bool]
) -> list[tuple[str, float]]:
    """The k nearest by the row of all distances, ties to the document that was added first."""
    docs = [doc for doc in index if allowed(doc)]
    if not docs:
        return []
    related = index.related
    bags = [str(doc.text).split() for doc in docs]
    row = wordferry.pairwise(
        [query.split()], bags, "rel-rwmd", embeddings=index.embeddings, related=related, overlap=overlap
    )[0]
    return [(docs[i].id, float(row[i])) for i in np.argsort(row, kind="stable")[:k]]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    history=HISTORY,
    seed=st.integers(0, 10_000),
    k=st.sampled_from([1, 3, 10, 1000]),
    overlap=st.sampled_from(["omr", "keep", "residual"]),
    filtered=st.booleans(),
    lengths=st.sampled_from([2, 6, 25]),
    frequent=FREQUENT,
)
def test_pruned_equals_brute_force(
    tmp_path_factory: pytest.TempPathFactory,
    history: list[tuple[str, Any]],
    seed: int,
    k: int,
    overlap: str,
    filtered: bool,
    lengths: int,
    frequent: int,
) -> None:
    """With ties, deletions, several segments, filters, words outside the index, and k larger than the collection."""
    rng = np.random.default_rng(seed)
    place = tmp_path_factory.mktemp("lists") / "index"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish, "BUFFER", 12)
        patch.setattr(publish, "SEGMENT", 40)
        patch.setattr(nearest, "FEW", 0)
        patch.setattr(lists, "_FEWEST", 1)
        patch.setattr(lists, "_FREQUENT", frequent)
        with Index.create(
            place, embeddings=embeddings(), related=3, distance="rel-rwmd", overlap=overlap, **PLAIN
        ) as index:

            def text() -> str:
                return " ".join(WORDS[i] for i in rng.integers(0, 45, size=rng.integers(1, lengths + 1)))

            play(index, history, rng, text)
            if not len(index):
                assert index.similar("w01", k) == []
                return
            queries = [" ".join(WORDS[i] for i in rng.integers(0, 60, size=size)) for size in (1, 4, 20)]
            wanted_parity = {doc.metadata["parity"] for doc in index}.pop()
            condition = {"parity": wanted_parity} if filtered else None
            for query, hits in zip(queries, index.similar(queries, k, filter=condition), strict=True):
                wanted = everything(
                    index, query, k, overlap, lambda doc: not filtered or doc.metadata["parity"] == wanted_parity
                )
                got = [(hit.id, hit.distance) for hit in hits]
                assert got == wanted
                assert got == compared_one_by_one(index, query, k, condition)
            with Index.open(place) as again:
                first = [(hit.id, hit.distance) for hit in again.similar(queries[1], k, filter=condition)]
            assert first == compared_one_by_one(index, queries[1], k, condition)


def assert_same_where_apart(got: list[tuple[str, float]], wanted: list[tuple[str, float]]) -> None:
    """The same documents wherever the distances differ by more than rounding."""
    for place, ((id, _), (wanted_id, distance)) in enumerate(zip(got, wanted, strict=True)):
        others = [d for i, (_, d) in enumerate(wanted) if i != place]
        if place < len(wanted) - 1 and all(abs(distance - other) > 1e-5 for other in others):
            assert id == wanted_id


def compared_one_by_one(index: Index, query: str, k: int, condition: Any) -> list[tuple[str, float]]:
    """The same kernel over every document, without lists and bounds: equal to the last bit, ties by place."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "FEW", 1 << 40)
        return [(hit.id, hit.distance) for hit in index.similar(query, k, filter=condition)]


@settings(max_examples=25, deadline=None)
@given(
    distance=st.sampled_from(["wmd", "rwmd", "act", "rel-wmd"]),
    seed=st.integers(0, 10_000),
    k=st.sampled_from([1, 4, 500]),
    deleted=st.floats(0, 0.7),
    filtered=st.booleans(),
)
def test_shortlists_equal_everything(
    tmp_path_factory: pytest.TempPathFactory, distance: str, seed: int, k: int, deleted: float, filtered: bool
) -> None:
    """The costly distances over what the lists leave over: as over all documents, bit by bit."""
    rng = np.random.default_rng(seed)
    place = tmp_path_factory.mktemp("short") / "index"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish, "BUFFER", 12)
        patch.setattr(publish, "SEGMENT", 60)
        patch.setattr(shortlist, "_SHARE", 0)
        with Index.create(place, embeddings=embeddings(), related=3, **PLAIN) as index:
            for _ in range(3):
                picks = [rng.integers(0, 45, size=rng.integers(1, 12)) for _ in range(40)]
                index.add([{"text": " ".join(WORDS[i] for i in pick), "parity": len(pick) % 2} for pick in picks])
            index.delete([id for id in index.ids() if rng.random() < deleted])
            condition = {"parity": 1} if filtered else None
            for size in (1, 5, 20):
                query = " ".join(WORDS[i] for i in rng.integers(0, 60, size=size))
                patch.setattr(shortlist, "_LEAST", 1 << 40)
                wanted = index.similar(query, k, distance=distance, filter=condition)
                patch.setattr(shortlist, "_LEAST", 0)
                found = index.similar(query, k, distance=distance, filter=condition)
                assert [(hit.id, hit.distance) for hit in found] == [(hit.id, hit.distance) for hit in wanted]
                if found:
                    assert found.counts["evaluated"] <= len(index)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    k=st.sampled_from([1, 4, 500]),
    deleted=st.floats(0, 0.7),
    filtered=st.booleans(),
)
def test_centroids_equal_everything(
    tmp_path_factory: pytest.TempPathFactory, seed: int, k: int, deleted: float, filtered: bool
) -> None:
    """wcd through codes, of segments and of the buffer, as over all documents."""
    rng = np.random.default_rng(seed)
    place = tmp_path_factory.mktemp("codes") / "index"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish, "BUFFER", 12)
        patch.setattr(publish, "SEGMENT", 60)
        patch.setattr(centroids, "FEW", 0)
        with Index.create(place, embeddings=embeddings(), related=3, **PLAIN) as index:
            for amount in (40, 55, 5):
                picks = [rng.integers(0, 45, size=rng.integers(1, 12)) for _ in range(amount)]
                index.add([{"text": " ".join(WORDS[i] for i in pick), "parity": len(pick) % 2} for pick in picks])
            index.delete([id for id in index.ids() if rng.random() < deleted])
            condition = {"parity": 1} if filtered else None
            docs = [doc for doc in index if not filtered or doc.metadata["parity"] == 1]
            for size in (1, 5, 20):
                query = " ".join(WORDS[i] for i in rng.integers(0, 60, size=size))
                found = index.similar(query, k, distance="wcd", filter=condition)
                got = [(hit.id, hit.distance) for hit in found]
                patch.setattr(centroids, "FEW", 1 << 40)
                assert got == [
                    (hit.id, hit.distance) for hit in index.similar(query, k, distance="wcd", filter=condition)
                ]
                patch.setattr(centroids, "FEW", 0)
                if docs:
                    bags = [str(doc.text).split() for doc in docs]
                    row = wordferry.pairwise([query.split()], bags, "wcd", embeddings=index.embeddings)[0]
                    wanted = [(docs[i].id, float(row[i])) for i in np.argsort(row, kind="stable")[:k]]
                    assert got == wanted
            index.verify()


@given(
    st.lists(st.dictionaries(st.integers(0, 9), st.integers(1, 300), max_size=6), min_size=1, max_size=20),
    FREQUENT,
    st.sampled_from([np.uint16, np.int32]),
    st.integers(0, 1200),
)
def test_lists_say_what_bags_say(bags: list[dict[int, int]], frequent: int, kind: Any, empty: int) -> None:
    """Every count is found again in lists and bits, and the number of rows of each word; rows rise."""
    bags = [*bags[:1], *({} for _ in range(empty)), *bags[1:]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "_FEWEST", 1)
        patch.setattr(lists, "_FREQUENT", frequent)
        made = lists.build(*arrays_of(bags, kind))
    often = [sum(w in bag for bag in bags) for w in range(10)]
    assert counts_of(made) == {(row, w): c for row, bag in enumerate(bags) for w, c in bag.items()}
    assert made.frequencies(10).tolist() == often
    assert made.bit_words.tolist() == [w for w in range(10) if often[w] and frequent * often[w] >= len(bags)]


def arrays_of(bags: list[dict[int, int]], kind: Any) -> tuple[Any, Any, Any]:
    words = np.array([w for bag in bags for w in sorted(bag)], dtype=np.int32)
    counts = np.array([bag[w] for bag in bags for w in sorted(bag)], dtype=kind)
    return np.cumsum([0, *map(len, bags)]), words, counts


@given(
    st.lists(st.dictionaries(st.integers(0, 9), st.integers(1, 300), max_size=6), min_size=1, max_size=20),
    st.dictionaries(st.integers(0, 9), st.integers(1, 9), min_size=1, max_size=5),
    st.sampled_from(["omr", "keep"]),
    FREQUENT,
    st.sampled_from(["counts", "logarithm", "saturation"]),
)
def test_bounds_are_one_side_of_the_distance(
    bags: list[dict[int, int]], query: dict[int, int], overlap: str, frequent: int, growth: str
) -> None:
    """The sum over the lists is what moving the document onto the query costs, by the reference."""
    rng = np.random.default_rng(5)
    graph: dict[int, dict[int, float]] = {i: {} for i in range(10)}
    for i, j in rng.integers(0, 10, size=(14, 2)):
        if i != j:
            graph[int(i)][int(j)] = graph[int(j)][int(i)] = float(np.float32(rng.random()))
    c_max = 0.75
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "_FEWEST", 1)
        patch.setattr(lists, "_FREQUENT", frequent)
        made = lists.build(*arrays_of(bags, np.uint16))
    total = sum(query.values())
    cost = reference.related_cost(graph, c_max)
    touched = sorted(set(query) | {j for i in query for j in graph[i]})
    near = [min((cost(w, i) for i in query if i != w), default=c_max) for w in touched]
    if overlap == "keep":
        near = [0.0 if w in query else n for w, n in zip(touched, near, strict=True)]
    common = [query.get(w, 0) / total if overlap == "omr" else 0.0 for w in touched]
    room = rng.random(len(bags)) * 20

    def counted(row: int, count: int) -> float:
        saturated = count * (1 + room[row]) / (count + room[row])
        return {"counts": count, "logarithm": 1 + math.log(count), "saturation": saturated}[growth]

    weighed = [{w: counted(row, c) for w, c in bag.items()} for row, bag in enumerate(bags)]
    sums = np.array([sum(bag.values()) for bag in weighed], dtype=np.float32)
    costs = np.array(near, dtype=np.float32)
    asked = lists.Touched(
        np.array(touched, dtype=np.int32), costs, np.float32(c_max) - costs, np.array(common, dtype=np.float32)
    )
    repeats = lists.repeats(growth, room if growth == "saturation" else None)
    found, visited = lists.bounds(made.view, *asked, sums, repeats, c_max, 2)
    x = {w: c / total for w, c in query.items()}
    for bag, bound in zip(weighed, found.tolist(), strict=True):
        if not bag:
            assert bound == np.inf
            continue
        y = {w: c / sum(bag.values()) for w, c in bag.items()}
        moved = sum(
            max(mass - (x.get(w, 0.0) if overlap == "omr" else 0.0), 0.0)
            * (0.0 if overlap == "keep" and w in x else min((cost(w, i) for i in x if i != w), default=c_max))
            for w, mass in y.items()
        )
        assert bound == pytest.approx(moved, abs=1e-5)
    assert visited == sum(w in touched for bag in bags for w in bag)


def test_lists_over_several_blocks() -> None:
    """More rows than a block has: each block lists its own words, and rows are counted from its start."""
    rows = lists.BLOCK + 1000
    words = (np.arange(rows) % 7).astype(np.int32)
    made = lists.build(np.arange(rows + 1), words, np.ones(rows, np.uint8))
    assert made.blocks.tolist() == [0, 0, 0]
    assert made.bit_blocks.tolist() == [0, 7, 14]
    touched = lists.Touched(np.array([3], np.int32), *(np.array([v], np.float32) for v in (0.25, 0.75, 0.0)))
    found, visited = lists.bounds(made.view, *touched, np.ones(rows, np.float32), lists.COUNTS, 1.0, 2)
    assert visited == np.count_nonzero(words == 3)
    np.testing.assert_array_equal(found, np.where(words == 3, np.float32(0.25), np.float32(1)))


@pytest.mark.parametrize("frequent", [0, 1000])
def test_damaged_lists_are_refused(frequent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Offsets that lead outside are an error of ours, not of the processor."""
    monkeypatch.setattr(lists, "_FEWEST", 1)
    monkeypatch.setattr(lists, "_FREQUENT", frequent)
    made = lists.build(np.arange(5), np.arange(4, dtype=np.int32), np.full(4, 3, np.uint8))
    touched = lists.Touched(np.arange(4, dtype=np.int32), *(np.ones(4, np.float32) for _ in range(3)))
    for name in ("blocks", "starts", "bit_blocks"):
        for place in range(getattr(made, name).size):
            for value in (-1, 2**40, 2**62, -(2**62)):
                array = getattr(made, name).copy()
                array.flat[place] = value
                wrong = lists.PostingLists(**{**vars(made), name: array})
                try:
                    lists.bounds(wrong.view, *touched, np.ones(4, np.float32), lists.COUNTS, 1.0, 1)
                except ValueError as error:
                    assert "outside" in str(error)  # noqa: PT017 - a first offset may go unused


def test_hits_say_what_was_touched(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "FEW", 10)
    index = make(related=2)
    rng = np.random.default_rng(3)
    index.add([" ".join(WORDS[i] for i in rng.integers(0, 60, size=12)) for _ in range(2000)])
    hits = index.similar("w01 w02", k=3)
    assert hits.counts["pairs"] == 2000
    assert 3 <= hits.counts["evaluated"] < 1000
    assert 0 < hits.counts["postings"] < 2000 * 12

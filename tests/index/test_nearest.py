"""The kernels over posting lists against comparing with every document, over several blocks and parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from wordferry import _native
from wordferry.base.arrays import BoolArray
from wordferry.index.search.centroids import codes_of
from wordferry.kernels import lists, reference

WORDS, OTHERS, C_MAX = 60, 8, 0.75
"""Words with relatives, and words behind them that are related to none."""
GROWTHS = ["counts", "logarithm", "saturation"]
WIDTHS = [(word, count) for word in (np.uint16, np.int32) for count in (np.uint8, np.uint16, np.int32)]
Bags = Sequence[dict[int, int]]
Graph = dict[int, dict[int, float]]
NO_NORMS = np.zeros(0, np.float32)
Documents = tuple[list[lists.WeighedDocuments], _native.WordWeights]


def arrays(bags: Bags, widths: tuple[Any, Any] = (np.int32, np.uint8)) -> tuple[Any, Any, Any]:
    words = np.array([w for bag in bags for w in sorted(bag)], dtype=widths[0])
    counts = np.array([bag[w] for bag in bags for w in sorted(bag)], dtype=widths[1])
    return np.cumsum([0, *map(len, bags)]), words, counts


def weighed(
    rows: tuple[Any, Any, Any], weights: Any = None, repeats: _native.Repeats = lists.COUNTS
) -> lists.WeighedDocuments:
    """Documents with the sums that the kernel makes of these weights; 1 for each word where none are given."""
    stored = lists.StoredDocuments(lists.build(*rows).view, *rows)
    sums = stored.sums(ones() if weights is None else weights, False, repeats, 1)
    longest = np.add.reduceat(np.append(rows[2], 0).astype(float), rows[0][:-1]).max() if len(rows[0]) > 1 else 0.0
    return lists.WeighedDocuments(stored, sums.astype(np.float32), sums, NO_NORMS, float(longest), repeats)


def ones() -> Any:
    return np.ones(WORDS + OTHERS)


def some_weights(rng: np.random.Generator, spread: float = 1.0, zeros: float = 0.2) -> Any:
    """Weights that differ by orders of magnitude where the spread is large; some words do not count at all."""
    weights = np.exp(spread * rng.normal(size=WORDS + OTHERS))
    weights[rng.random(WORDS + OTHERS) < zeros] = 0.0
    return weights


def some_bags(rng: np.random.Generator, rows: int, most: int = 5, others: int = 0) -> Bags:
    """Few different words and counts, so that many documents are equally far; some are empty.

    Up to ``others`` words of each document are related to none.
    """
    sizes = rng.integers(0, most, size=rows)
    words = np.minimum(rng.zipf(1.4, size=int(sizes.sum())) - 1, WORDS - 1)
    more = rng.integers(0, others + 1, size=rows)
    words = np.append(words, WORDS + rng.integers(0, OTHERS, size=int(more.sum())))
    owner = np.append(np.repeat(np.arange(rows), sizes), np.repeat(np.arange(rows), more))
    pairs, counts = np.unique(owner * 1000 + words, return_counts=True)
    bags: list[dict[int, int]] = [{} for _ in range(rows)]
    for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
        bags[pair // 1000][pair % 1000] = count
    return bags


@cache
def many_rows(seed: int, most: int = 5) -> tuple[tuple[Any, Any, Any], ...]:
    """More rows than a block has, in parts of different sizes."""
    rng = np.random.default_rng(seed)
    return tuple(arrays(some_bags(rng, size, most, 2)) for size in (300, lists.BLOCK + 700, 5))


def many(seed: int, widths: tuple[Any, Any], growth: str, weights: Any, most: int = 5) -> tuple[Documents, int]:
    """These rows by the widths of files, weighed; and how many there are."""
    rng, parts, rows = np.random.default_rng(seed), [], 0
    for indptr, words, counts in many_rows(seed, most):
        room = rng.random(len(indptr) - 1) * 10 if growth == "saturation" else None
        given = (indptr, words.astype(widths[0]), counts.astype(widths[1]))
        parts.append(weighed(given, weights, lists.repeats(growth, room)))
        rows += len(indptr) - 1
    return (parts, _native.WordWeights(weights)), rows


def some_graph(rng: np.random.Generator) -> Graph:
    graph: Graph = {i: {} for i in range(WORDS + OTHERS)}
    for i, j in rng.integers(0, WORDS, size=(120, 2)):
        if i != j:
            graph[int(i)][int(j)] = graph[int(j)][int(i)] = float(np.float32(rng.integers(1, 9) / 12))
    return graph


def query_of(
    query: dict[int, Any], graph: Graph, overlap: str, c_max: float = C_MAX, size: int = WORDS + OTHERS
) -> _native.ListQuery:
    words = sorted(query)
    edges = [(place, other, cost) for place, word in enumerate(words) for other, cost in graph[word].items()]
    near, far, costs = zip(*edges, strict=True) if edges else ((), (), ())
    masses = np.array([query[w] / sum(query.values()) for w in words], dtype=np.float32)
    found = np.array(near, np.int32), np.array(far, np.int32), np.array(costs, np.float32)
    return _native.ListQuery(np.array(words, np.int32), masses, *found, c_max, _native.Overlap[overlap], size)


def nearest_by(everything: Any, allowed: BoolArray | None, k: int) -> Any:
    """The k nearest of the allowed rows by all distances, ties to the row that comes first."""
    choice = np.arange(len(everything)) if allowed is None else np.flatnonzero(allowed)
    return choice[np.lexsort((choice, everything[choice]))][:k]


def check(documents: Documents, rows: int, query: _native.ListQuery, allowed: BoolArray | None, k: int) -> None:
    everything = _native.list_distances(query, *documents, [], np.arange(rows))
    wanted = nearest_by(everything, allowed, k)
    for threads in (1, 2):
        found = lists.nearest([query], documents, allowed, 1e-5, k, threads)
        np.testing.assert_array_equal(found.indices[0, : len(wanted)], wanted)
        np.testing.assert_array_equal(found.distances[0, : len(wanted)], everything[wanted])
        assert (found.indices[0, len(wanted) :] == -1).all()
        assert found.counts["evaluated"] <= (rows if allowed is None else np.count_nonzero(allowed))


@pytest.mark.parametrize("overlap", ["omr", "keep"])
@pytest.mark.parametrize(("widths", "growth"), list(zip(WIDTHS, [*GROWTHS, *GROWTHS], strict=True)))
def test_several_blocks_and_parts(overlap: str, widths: tuple[Any, Any], growth: str) -> None:
    """More rows than a block has, in parts of different sizes, with ties all over and documents without words."""
    rng = np.random.default_rng(4)
    graph = some_graph(rng)
    for weights in (ones(), some_weights(rng)):
        documents, rows = many(4, widths, growth, weights)
        for k, words in ((1, [3]), (10, [0, 5, 9]), (700, [1, 2, 30, 31, 61]), (40, [50, 63])):
            query = query_of({w: 1 + i for i, w in enumerate(words)}, graph, overlap)
            check(documents, rows, query, None, k)
            check(documents, rows, query, rng.random(rows) < 0.3, k)
            check(documents, rows, query, rng.random(rows) < 0.0003, k)


@pytest.mark.parametrize(
    ("widths", "growth", "size"),
    [
        *((widths, growth, 1) for widths in WIDTHS for growth in GROWTHS),
        *((widths, GROWTHS[place % 3], 14) for place, widths in enumerate(WIDTHS)),
    ],
)
def test_panels_are_single_queries_bit_by_bit(widths: tuple[Any, Any], growth: str, size: int) -> None:
    """By every weighting and growth: short queries by their lists, long ones by one walk over the documents."""
    rng = np.random.default_rng(size)
    graph = some_graph(rng)
    asked = [dict.fromkeys(rng.integers(0, WORDS + 3, size=size).tolist(), 1 + i % 3) for i in range(lists.PANEL)]
    for overlap, weights in (("omr", ones()), ("keep", some_weights(rng)), ("omr", some_weights(rng, 3.0))):
        documents, rows = many(7, widths, growth, weights, 8)
        queries = [query_of(one, graph, overlap) for one in asked]
        for allowed, k in ((None, 10), (rng.random(rows) < 0.3, 100), (rng.random(rows) < 0.0003, 50)):
            alone = [lists.nearest([query], documents, allowed, 1e-5, k, 1) for query in queries]
            for count, threads in ((2, 1), (lists.PANEL, 1), (lists.PANEL, 2)):
                found = lists.nearest(queries[:count], documents, allowed, 1e-5, k, threads)
                for rows_of_one, near, one in zip(found.indices, found.distances, alone, strict=False):
                    assert rows_of_one.tolist() == one.indices[0].tolist()
                    assert near.tolist() == one.distances[0].tolist()
                assert found.counts["evaluated"] >= count
                if count == lists.PANEL:  # all entries of the lists of each query, or those of the first block alone
                    assert (found.counts["postings"] == sum(one.counts["postings"] for one in alone)) == (size == 1)


def test_a_panel_has_one_to_sixteen_queries_of_one_graph() -> None:
    rng = np.random.default_rng(1)
    documents = [weighed(arrays(some_bags(rng, 20)))], _native.WordWeights(ones())
    graph = some_graph(rng)
    query = query_of({1: 1}, graph, "omr")
    for queries in ([], [query] * (lists.PANEL + 1)):
        with pytest.raises(ValueError, match="one to sixteen"):
            lists.nearest(queries, documents, None, 0.0, 3, 1)
    other = query_of({1: 1}, graph, "omr", 2 * C_MAX)
    with pytest.raises(ValueError, match="same c_max"):
        lists.nearest([query, other], documents, None, 0.0, 3, 1)
    small = query_of({1: 1}, graph, "omr", size=WORDS)
    with pytest.raises(ValueError, match="every word that weighs"):
        lists.nearest([small], documents, None, 0.0, 3, 1)


def test_more_than_there_are() -> None:
    """k larger than the allowed documents: all of them, empty ones at infinity at the end."""
    rng = np.random.default_rng(8)
    wide = (np.int32, np.uint16)
    parts = [weighed(arrays(some_bags(rng, 50), wide)), weighed(arrays([{}, {1: 300}, {}], wide))]
    documents = parts, _native.WordWeights(ones())
    query = query_of({1: 2, 7: 1}, some_graph(rng), "omr")
    check(documents, 53, query, None, 1000)
    check(documents, 53, query, np.arange(53) >= 50, 1000)
    assert lists.nearest([query], documents, np.zeros(53, bool), 1e-5, 3, 1).indices.tolist() == [[-1, -1, -1]]


def normalised(bag: dict[int, float]) -> dict[int, float]:
    """Masses of a bag; a word that weighs nothing has none."""
    return {w: c / sum(bag.values()) for w, c in bag.items() if c > 0}


def counted(growth: str, room: float, count: int) -> float:
    """What a word counts that stands in a document so often."""
    saturated = count * (1 + room) / (count + room)
    return {"counts": count, "logarithm": 1 + math.log(count), "saturation": saturated}[growth]


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    query=st.dictionaries(st.integers(0, WORDS + OTHERS - 1), st.integers(1, 9), min_size=1, max_size=12),
    overlap=st.sampled_from(["omr", "keep"]),
    k=st.sampled_from([1, 5, 200]),
    spread=st.sampled_from([0, 1, 5]),
    zeros=st.sampled_from([0.0, 0.3]),
    frequent=st.sampled_from([0, 3, 1000]),
    growth=st.sampled_from(GROWTHS),
    large=st.booleans(),
    word=st.sampled_from([np.uint16, np.int32]),
)
def test_nearest_by_the_reference(
    seed: int,
    query: dict[int, int],
    overlap: str,
    k: int,
    spread: int,
    zeros: float,
    frequent: int,
    growth: str,
    large: bool,
    word: Any,
) -> None:
    """Distances are those of the reference, the nearest those of all distances, also with very long documents.

    Words weigh more or less or nothing, repeated ones too, and some are related to none.
    """
    rng = np.random.default_rng(seed)
    graph, bags = some_graph(rng), list(some_bags(rng, 80, 9, 2))
    if large:
        bags[3] = {1: 2_000_000, 4: 1}
    weights = some_weights(rng, spread, zeros) if spread or zeros else ones()
    room = rng.random(80) * 10
    x = normalised({w: c * weights[w] for w, c in query.items()})
    assume(x)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "_FEWEST", 1)
        patch.setattr(lists, "_FREQUENT", frequent)
        parts = []
        for some in (slice(0, 30), slice(30, 80)):
            repeats = lists.repeats(growth, room[some] if growth == "saturation" else None)
            parts.append(weighed(arrays(bags[some], (word, np.int32)), weights, repeats))
    documents, asked = (parts, _native.WordWeights(weights)), query_of(x, graph, overlap)
    for allowed in (None, rng.random(80) < 0.5):
        check(documents, 80, asked, allowed, k)
    cost = reference.related_cost(graph, C_MAX)
    found = _native.list_distances(asked, *documents, [], np.arange(80))
    for row, (bag, distance) in enumerate(zip(bags, found.tolist(), strict=True)):
        y = normalised({w: counted(growth, room[row], c) * weights[w] for w, c in bag.items()})
        assert distance == pytest.approx(reference.rwmd(x, y, cost, overlap) if y else np.inf, abs=2e-6)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    overlap=st.sampled_from(["omr", "keep"]),
    k=st.sampled_from([1, 5, 200]),
    frequent=st.sampled_from([0, 3, 1000]),
    growth=st.sampled_from(GROWTHS),
)
def test_a_word_of_weight_0_is_as_if_it_were_not_there(
    seed: int, overlap: str, k: int, frequent: int, growth: str
) -> None:
    """Nearest documents, sums and centroids of documents from which such words are taken, bit by bit."""
    rng = np.random.default_rng(seed)
    graph, bags, weights = some_graph(rng), some_bags(rng, 300, 9, 2), some_weights(rng, 1.0, 0.4)
    without = [{w: c for w, c in bag.items() if weights[w] > 0} for bag in bags]
    words = np.flatnonzero(weights)
    assume(len(words) >= 4)
    vectors = rng.normal(size=(WORDS, 5)).astype(np.float32)
    rows_of = np.append(np.arange(WORDS), np.full(OTHERS, -1)).astype(np.int32)
    native = _native.WordWeights(weights)
    room = rng.random(300) * 10 if growth == "saturation" else None
    asked = {int(w): 1 + i for i, w in enumerate(rng.choice(words, 4, replace=False))}
    query = query_of(asked, graph, overlap)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "_FEWEST", 1)
        patch.setattr(lists, "_FREQUENT", frequent)
        whole, left = (weighed(arrays(some), weights, lists.repeats(growth, room)) for some in (bags, without))
    near = [lists.nearest([query, query], ([part], native), None, 1e-5, k, 1) for part in (whole, left)]
    assert near[0].indices.tolist() == near[1].indices.tolist()
    assert near[0].distances.tolist() == near[1].distances.tolist()
    places = _native.WordVectors(vectors, rows_of, native, 1.5**2 / 2)
    every = np.array([row for row, bag in enumerate(without) if bag])
    for one, other in zip(*(_native.centroids_of([part], places, every) for part in (whole, left)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_damaged_arrays_are_refused() -> None:
    """Offsets and words that lead outside are an error of ours, not of the processor."""
    rng = np.random.default_rng(2)
    query = query_of({1: 1, 2: 1}, some_graph(rng), "omr")
    indptr, words, counts = arrays([bag or {1: 1} for bag in some_bags(rng, 30)])
    made = lists.build(indptr, words, counts)
    totals, weights = np.ones(30), _native.WordWeights(ones())
    for name, array in {"blocks": made.blocks, "starts": made.starts, "indptr": indptr, "words": words}.items():
        for value in (-1, 2**31 - 1) if name == "words" else (-1, 2**40, -(2**62)):
            wrong = np.full_like(array, value)
            given_lists = lists.PostingLists(**{**vars(made), name: wrong}) if name in ("blocks", "starts") else made
            forward = (wrong if name == "indptr" else indptr, wrong if name == "words" else words, counts)
            stored = lists.StoredDocuments(given_lists.view, *forward)
            part = lists.WeighedDocuments(stored, totals.astype(np.float32), totals, NO_NORMS, 100.0, lists.COUNTS)
            for panel in ([query], [query] * 3):
                with pytest.raises(ValueError, match="outside"):
                    lists.nearest(panel, ([part], weights), None, 0.0, 5, 1)


def test_words_behind_the_weights_are_refused() -> None:
    """A number that no weight is given for is damage, in lists, in panels and in distances."""
    rng = np.random.default_rng(3)
    part, query = weighed(arrays([{1: 1}, {3: 1}])), query_of({1: 1}, some_graph(rng), "omr")
    documents = [part], _native.WordWeights(np.ones(2))
    for call in (
        lambda: lists.nearest([query], documents, None, 1e-5, 2, 1),
        lambda: lists.nearest([query, query], documents, None, 1e-5, 2, 1),
        lambda: _native.list_distances(query, *documents, [], np.arange(2)),
    ):
        with pytest.raises(ValueError, match="outside"):
            call()


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf, 1e-13, 1e13])
def test_weights_that_are_none_are_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="weights must be 0 or"):
        _native.WordWeights(np.array([1.0, 0.0, wrong]))


def check_centroids(parts: list[Any], rows: int, query: Any, codes: list[Any], allowed: Any, k: int) -> None:
    everything = query.distances(parts, np.arange(rows))
    wanted = nearest_by(everything, allowed, k)
    for threads in (1, 2):
        indices, distances, _ = query.nearest(parts, codes, allowed, k, threads)
        np.testing.assert_array_equal(indices[0, : len(wanted)], wanted)
        np.testing.assert_array_equal(distances[0, : len(wanted)], everything[wanted])
        assert (indices[0, len(wanted) :] == -1).all()


def vectors_of(vectors: Any, weights: Any = None, far: float = 0.0) -> _native.WordVectors:
    """The vectors of the first words; those behind them have none."""
    rows = np.append(np.arange(len(vectors)), np.full(OTHERS, -1)).astype(np.int32)
    weights = np.where(rows < 0, 0.0, 1.0) if weights is None else weights
    return _native.WordVectors(vectors, rows, _native.WordWeights(weights), far**2 / 2)


def plain_query(vectors: _native.WordVectors, query: dict[int, int]) -> _native.CentroidQuery:
    masses = np.array([query[w] / sum(query.values()) for w in sorted(query)], dtype=np.float32)
    nothing = np.zeros(0, np.int32), np.zeros(0, np.float32)
    return _native.CentroidQuery(vectors, np.array(sorted(query), np.int32), masses, *nothing)


def coded(
    part: lists.WeighedDocuments, bags: Bags, vectors: _native.WordVectors, threads: int = 1
) -> _native.CentroidCodes:
    rows = np.array([row for row, bag in enumerate(bags) if bag], dtype=np.int64)
    return codes_of(part, vectors, rows, threads)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    query=st.dictionaries(st.integers(0, WORDS - 1), st.integers(1, 9), min_size=1, max_size=6),
    dimensions=st.sampled_from([1, 3, 46, 63, 64, 100]),
    shift=st.sampled_from([0.0, 30.0]),
    k=st.sampled_from([1, 10, 500]),
)
def test_nearest_centroids(seed: int, query: dict[int, int], dimensions: int, shift: float, k: int) -> None:
    """Through codes as by the reference, also where centroids lie close together and far from the origin."""
    rng = np.random.default_rng(seed)
    matrix = (rng.normal(size=(WORDS, dimensions)) + shift).astype(np.float32)
    vectors, bags = vectors_of(matrix), list(some_bags(rng, 300, 9))
    bags[7] = dict(query)  # at distance 0
    halves = bags[:90], bags[90:]
    parts = [weighed(arrays(some)) for some in halves]
    codes = [coded(part, some, vectors) for part, some in zip(parts, halves, strict=True)]
    asked = plain_query(vectors, query)
    for allowed in (None, rng.random(300) < 0.5):
        check_centroids(parts, 300, asked, codes, allowed, k)
    x = normalised(query)  # type: ignore[arg-type]
    for bag, distance in zip(bags, asked.distances(parts, np.arange(300)).tolist(), strict=True):
        wanted = reference.wcd(x, normalised(bag), matrix) if bag else np.inf  # type: ignore[arg-type]
        assert distance == pytest.approx(wanted, rel=1e-5, abs=2e-6 * (1 + shift))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    query=st.dictionaries(st.integers(0, WORDS + OTHERS + 1), st.integers(1, 9), min_size=1, max_size=8),
    dimensions=st.sampled_from([1, 3, 20, 120]),
    growth=st.sampled_from(GROWTHS),
    far=st.sampled_from([0.0, 1.5, 30.0]),
    zeros=st.sampled_from([0.0, 0.3]),
    frequent=st.sampled_from([0, 3, 1000]),
)
def test_nearest_weighed_centroids(
    seed: int, query: dict[int, int], dimensions: int, growth: str, far: float, zeros: float, frequent: int
) -> None:
    """By the reference, where each word without a vector has a dimension of its own; two of them no document has."""
    rng = np.random.default_rng(seed)
    matrix, bags = rng.normal(size=(WORDS, dimensions)).astype(np.float32), some_bags(rng, 200, 9, 3)
    weights, room = some_weights(rng, 1.0, zeros), rng.random(200) * 10
    weighed_bags = [
        {w: counted(growth, room[row], c) * weights[w] for w, c in bag.items() if weights[w] > 0}
        for row, bag in enumerate(bags)
    ]
    vectors, parts, codes = vectors_of(matrix, weights, far), [], []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "_FEWEST", 1)
        patch.setattr(lists, "_FREQUENT", frequent)
        for some in (slice(0, 70), slice(70, 200)):
            repeats = lists.repeats(growth, room[some] if growth == "saturation" else None)
            parts.append(weighed(arrays(bags[some]), weights, repeats))
            codes.append(coded(parts[-1], weighed_bags[some], vectors, 2))  # type: ignore[arg-type]
    x = normalised(query)  # type: ignore[arg-type]
    known, apart = ([w for w in sorted(query) if (w < WORDS) == has] for has in (True, False))
    masses = [np.array([x[w] for w in some], np.float32) for some in (known, apart)]
    asked = _native.CentroidQuery(vectors, np.array(known, np.int32), masses[0], np.array(apart, np.int32), masses[1])
    for allowed in (None, rng.random(200) < 0.5):
        for k in (1, 10, 500):
            check_centroids(parts, 200, asked, codes, allowed, k)
    wide = np.zeros((WORDS + OTHERS + 2, dimensions + OTHERS + 2))
    wide[:WORDS, :dimensions], wide[WORDS:, dimensions:] = matrix, np.eye(OTHERS + 2) * far / np.sqrt(2)
    for document, distance in zip(weighed_bags, asked.distances(parts, np.arange(200)).tolist(), strict=True):
        wanted = reference.wcd(x, normalised(document), wide) if document else np.inf
        assert distance == pytest.approx(wanted, rel=1e-5, abs=2e-6 * (1 + far))


def test_centroids_over_several_blocks() -> None:
    """Most documents are ruled out by their codes; those that are unlike the sample are not."""
    rng = np.random.default_rng(6)
    matrix = rng.normal(size=(WORDS, 70)).astype(np.float32)
    matrix[-1] *= 1000  # a word that the sample has not seen: its codes are cut short
    bags = [{w: c for w, c in bag.items() if w != WORDS - 1} for bag in some_bags(rng, lists.BLOCK + 300, 12)]
    bags[lists.BLOCK + 77] = {WORDS - 1: 1}
    vectors, part = vectors_of(matrix), weighed(arrays(bags))
    codes = coded(part, bags, vectors)
    for words in ([3, 9], [WORDS - 1], [0, 1, 2, 30]):
        query = plain_query(vectors, dict.fromkeys(words, 1))
        check_centroids([part], len(bags), query, [codes], None, 10)
        assert query.nearest([part], [codes], None, 3, 1)[2] < 2000


def test_centroids_of_documents_that_share_a_word_without_a_vector() -> None:
    """A frequent word without a vector rules documents in by its own weight, not by that of all such words."""
    rng = np.random.default_rng(8)
    matrix, frequent = rng.normal(size=(WORDS, 40)).astype(np.float32), WORDS
    bags = [{**bag, frequent: 1, WORDS + 1 + int(rng.integers(5)): 3} for bag in some_bags(rng, 5000, 5)]
    weights = np.ones(WORDS + OTHERS)
    vectors, part = vectors_of(matrix, weights, 1.5), weighed(arrays(bags), weights)
    apart = np.array([frequent, WORDS + 6, WORDS + 7], np.int32), np.array([0.05, 0.4, 0.4], np.float32)
    query = _native.CentroidQuery(vectors, np.array([3], np.int32), np.array([0.15], np.float32), *apart)
    codes = coded(part, bags, vectors)
    check_centroids([part], len(bags), query, [codes], None, 10)
    assert query.nearest([part], [codes], None, 10, 1)[2] < 400


def test_codes_of_another_part_are_refused() -> None:
    rng = np.random.default_rng(6)
    vectors = vectors_of(rng.normal(size=(WORDS, 5)).astype(np.float32))
    bags, others = some_bags(rng, 40), some_bags(rng, 90)
    part, codes = weighed(arrays(bags)), coded(weighed(arrays(others)), others, vectors)
    with pytest.raises(ValueError, match="not those of the part"):
        plain_query(vectors, {1: 1}).nearest([part], [codes], None, 3, 1)


def test_centroids_need_exact_totals() -> None:
    rng = np.random.default_rng(6)
    bags = some_bags(rng, 40)
    stored = lists.StoredDocuments(lists.build(*arrays(bags)).view, *arrays(bags))
    part = lists.WeighedDocuments(stored, np.ones(40, np.float32), np.zeros(0), NO_NORMS, 100.0, lists.COUNTS)
    vectors = vectors_of(rng.normal(size=(WORDS, 5)).astype(np.float32))
    with pytest.raises(ValueError, match="exact totals"):
        plain_query(vectors, {1: 1}).distances([part], np.arange(3))

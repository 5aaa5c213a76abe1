"""The kernel over inverted lists against comparing with every document, over several blocks and parts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordferry.base.arrays import BoolArray
from wordferry.kernels import centroids, native, reference
from wordferry.kernels import lists

WORDS, C_MAX = 60, 0.75
Bags = list[dict[int, int]]


def stored(bags: Bags, kind: Any = np.uint8, totals: Any = None) -> lists.Stored:
    indptr = np.cumsum([0, *map(len, bags)])
    words = np.array([w for bag in bags for w in sorted(bag)], dtype=np.int32)
    counts = np.array([bag[w] for bag in bags for w in sorted(bag)], dtype=kind)
    if totals is None:
        totals = np.array([sum(bag.values()) for bag in bags], dtype=np.float32)
    return lists.Stored(lists.build(indptr, words, counts), (indptr, words, counts), totals)


def some_bags(rng: np.random.Generator, rows: int, most: int = 5) -> Bags:
    """Few different words and counts, so that many documents are equally far; some are empty."""
    sizes = rng.integers(0, most, size=rows)
    words = np.minimum(rng.zipf(1.4, size=int(sizes.sum())) - 1, WORDS - 1)
    pairs, counts = np.unique(np.repeat(np.arange(rows), sizes) * WORDS + words, return_counts=True)
    bags: Bags = [{} for _ in range(rows)]
    for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
        bags[pair // WORDS][pair % WORDS] = count
    return bags


def some_graph(rng: np.random.Generator) -> dict[int, dict[int, float]]:
    graph: dict[int, dict[int, float]] = {i: {} for i in range(WORDS)}
    for i, j in rng.integers(0, WORDS, size=(120, 2)):
        if i != j:
            graph[int(i)][int(j)] = graph[int(j)][int(i)] = float(np.float32(rng.integers(1, 9) / 12))
    return graph


def query_of(
    query: dict[int, Any], graph: dict[int, dict[int, float]], overlap: str, vocabulary: int = WORDS
) -> lists.ListQuery:
    words = sorted(query)
    edges = [(place, other, cost) for place, word in enumerate(words) for other, cost in graph[word].items()]
    near, far, costs = zip(*edges, strict=True) if edges else ((), (), ())
    masses = np.array([query[w] / sum(query.values()) for w in words], dtype=np.float32)
    found = np.array(near, np.int32), np.array(far, np.int32), np.array(costs, np.float32)
    return lists.ListQuery(np.array(words, np.int32), masses, found, C_MAX, overlap, vocabulary)


def check(parts: list[lists.Stored], rows: int, query: lists.ListQuery, allowed: BoolArray | None, k: int) -> None:
    everything = query.distances(parts, np.arange(rows))
    choice = np.arange(rows) if allowed is None else np.flatnonzero(allowed)
    wanted = choice[np.lexsort((choice, everything[choice]))][:k]
    for threads in (1, 2):
        found = query.nearest(parts, allowed, 1e-5, k, threads)
        np.testing.assert_array_equal(found.rows, wanted)
        np.testing.assert_array_equal(found.distances, everything[wanted])
        assert found.evaluated <= len(choice)


@pytest.mark.parametrize("overlap", ["omr", "keep"])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int32])
def test_several_blocks_and_parts(overlap: str, kind: Any) -> None:
    """More rows than a block has, in parts of different sizes, with ties all over and documents without words."""
    rng = np.random.default_rng(4)
    sizes = (300, lists.BLOCK + 700, 5)
    parts, rows = [stored(some_bags(rng, size), kind) for size in sizes], sum(sizes)
    graph = some_graph(rng)
    for k, words in ((1, [3]), (10, [0, 5, 9]), (700, [1, 2, 30, 31]), (40, [50])):
        query = query_of({w: 1 + i for i, w in enumerate(words)}, graph, overlap)
        check(parts, rows, query, None, k)
        check(parts, rows, query, rng.random(rows) < 0.3, k)
        check(parts, rows, query, rng.random(rows) < 0.0003, k)


@pytest.mark.parametrize("overlap", ["omr", "keep"])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int32])
@pytest.mark.parametrize("size", [1, 14])
def test_panels_of_queries(overlap: str, kind: Any, size: int) -> None:
    """Several queries at once as one by one: short ones by their lists, long ones by one walk over the documents."""
    rng = np.random.default_rng(size)
    sizes = (300, lists.BLOCK + 700, 5)
    parts, rows = [stored(some_bags(rng, size, 8), kind) for size in sizes], sum(sizes)
    graph = some_graph(rng)
    asked = [dict.fromkeys(rng.integers(0, WORDS, size=size).tolist(), 1 + i % 3) for i in range(lists.PANEL)]
    queries = [query_of(one, graph, overlap) for one in asked]
    for allowed, k in ((None, 1), (None, 10), (rng.random(rows) < 0.3, 100), (rng.random(rows) < 0.0003, 50)):
        alone = [query.nearest(parts, allowed, 1e-5, k, 1) for query in queries]
        for count, threads in ((2, 1), (lists.PANEL, 1), (lists.PANEL, 2)):
            found, distances, visited, evaluated = lists.nearest_many(queries[:count], parts, allowed, 1e-5, k, threads)
            for row, near, one in zip(found, distances, alone, strict=False):
                assert row[: len(one.rows)].tolist() == one.rows.tolist()
                assert near[: len(one.rows)].tolist() == one.distances.tolist()
                assert (row[len(one.rows) :] == -1).all()
            assert evaluated >= count
            if count == lists.PANEL:  # all entries of the lists of each query, or those of the first block alone
                assert (visited == sum(one.visited for one in alone)) == (size == 1)


def test_more_than_there_are() -> None:
    """k larger than the allowed documents: all of them, empty ones at infinity at the end."""
    rng = np.random.default_rng(8)
    parts = [stored(some_bags(rng, 50)), stored([{}, {1: 300}, {}], np.uint16)]
    query = query_of({1: 2, 7: 1}, some_graph(rng), "omr")
    check(parts, 53, query, None, 1000)
    check(parts, 53, query, np.arange(53) >= 50, 1000)
    assert query.nearest(parts, np.zeros(53, bool), 1e-5, 3, 1).rows.tolist() == []


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    query=st.dictionaries(st.integers(0, WORDS - 1), st.integers(1, 9), min_size=1, max_size=12),
    overlap=st.sampled_from(["omr", "keep"]),
    k=st.sampled_from([1, 5, 200]),
    large=st.booleans(),
    frequent=st.sampled_from([0, 3, 1000]),
)
def test_nearest_by_the_reference(
    seed: int, query: dict[int, int], overlap: str, k: int, large: bool, frequent: int
) -> None:
    """Distances are those of the reference, the nearest those of all distances, also with very long documents."""
    rng = np.random.default_rng(seed)
    graph, bags = some_graph(rng), some_bags(rng, 80, 9)
    if large:
        bags[3] = {1: 2_000_000, 4: 1}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "_FEWEST", 1)
        patch.setattr(lists, "_FREQUENT", frequent)
        parts = [stored(bags[:30], np.int32), stored(bags[30:], np.int32)]
    asked = query_of(query, graph, overlap)
    check(parts, 80, asked, None, k)
    found = asked.distances(parts, np.arange(80))
    x = {w: c / sum(query.values()) for w, c in query.items()}
    cost = reference.related_cost(graph, C_MAX)
    for bag, distance in zip(bags, found.tolist(), strict=True):
        y = {w: c / sum(bag.values()) for w, c in bag.items()}
        wanted = reference.rwmd(x, y, cost, overlap) if y else np.inf
        assert distance == pytest.approx(wanted, abs=2e-6)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    query=st.dictionaries(st.integers(0, WORDS - 1), st.integers(1, 9), min_size=1, max_size=12),
    other_query=st.dictionaries(st.integers(0, 7), st.integers(1, 9), max_size=4),
    overlap=st.sampled_from(["omr", "keep"]),
    k=st.sampled_from([1, 5, 200]),
    spread=st.sampled_from([0, 1, 5]),
    frequent=st.sampled_from([0, 3, 1000]),
    growth=st.sampled_from(["counts", "logarithm", "saturation"]),
)
def test_weighed_words_by_the_reference(
    seed: int,
    query: dict[int, int],
    other_query: dict[int, int],
    overlap: str,
    k: int,
    spread: int,
    frequent: int,
    growth: str,
) -> None:
    """Words that weigh more or less, repeated ones too, and words without a vector, numbered behind the others."""
    rng = np.random.default_rng(seed)
    graph, bags = some_graph(rng), some_bags(rng, 80, 9)
    others = [{w: 1 + w % 2 for w in rng.integers(0, 8, size=rng.integers(0, 3)).tolist()} for _ in bags]
    known_weights, other_weights = np.exp(spread * rng.normal(size=WORDS)), np.exp(spread * rng.normal(size=8))
    room = rng.random(80) * 10

    def counted(row: int, count: int) -> float:
        saturated = count * (1 + room[row]) / (count + room[row])
        return {"counts": count, "logarithm": 1 + math.log(count), "saturation": saturated}[growth]

    weights = np.concatenate([known_weights, other_weights])
    documents = [
        {w: counted(row, c) * weights[w] for w, c in {**bag, **{WORDS + w: c for w, c in more.items()}}.items()}
        for row, (bag, more) in enumerate(zip(bags, others, strict=True))
    ]
    sums = [sum(document.values()) for document in documents]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "_FEWEST", 1)
        patch.setattr(lists, "_FREQUENT", frequent)
        parts = []
        for some in (slice(0, 30), slice(30, 80)):
            totals = np.array(sums[some], dtype=np.float64)
            both = (stored(kind[some], np.uint8, totals.astype(np.float32)) for kind in (bags, others))
            longest = max(sum(bag.values()) for bag in bags) + 2 * 2.0
            repeats = native.Repeats(growth, room[some] if growth == "saturation" else None)
            parts.append(lists.WeighedStored(*both, totals, longest, repeats))
    whole = {**query, **{WORDS + w: c for w, c in other_query.items()}}
    x = normalised({w: c * weights[w] for w, c in whole.items()})
    asked = query_of(x, {**graph, **{WORDS + w: {} for w in range(8)}}, overlap, WORDS + 8)
    every = lists.WordWeights(known_weights, other_weights)
    found = lists.weighed_distances(asked, parts, every, np.arange(80))
    for allowed in (None, rng.random(80) < 0.5):
        choice = np.arange(80) if allowed is None else np.flatnonzero(allowed)
        wanted = choice[np.lexsort((choice, found[choice]))][:k]
        near = lists.nearest_weighed(asked, parts, every, allowed, 1e-5, k, 2)
        assert near.rows.tolist() == wanted.tolist()
        assert near.distances.tolist() == found[wanted].tolist()
    cost = reference.related_cost({**graph, **{WORDS + w: {} for w in range(8)}}, C_MAX)
    for document, distance in zip(documents, found.tolist(), strict=True):
        y = normalised(document)
        assert distance == pytest.approx(reference.rwmd(x, y, cost, overlap) if y else np.inf, abs=2e-6)


def normalised(bag: dict[int, float]) -> dict[int, float]:
    return {w: c / sum(bag.values()) for w, c in bag.items()}


def test_damaged_arrays_are_refused() -> None:
    """Offsets and words that lead outside are an error of ours, not of the processor."""
    rng = np.random.default_rng(2)
    query = query_of({1: 1, 2: 1}, some_graph(rng), "omr")
    bags = [bag or {1: 1} for bag in some_bags(rng, 30)]
    indptr = np.cumsum([0, *map(len, bags)])
    words = np.array([w for bag in bags for w in sorted(bag)], dtype=np.int32)
    counts = np.ones(len(words), np.uint8)
    made = lists.build(indptr, words, counts)
    totals = np.ones(30, np.float32)
    for name, array in {"blocks": made.blocks, "starts": made.starts, "indptr": indptr, "words": words}.items():
        for value in (-1, 2**31 - 1) if name == "words" else (-1, 2**40, -(2**62)):
            wrong = np.full_like(array, value)
            given_lists = (
                lists.Lists(**{**vars(made), name: wrong}) if hasattr(made, name) and name != "words" else made
            )
            forward = (wrong if name == "indptr" else indptr, wrong if name == "words" else words, counts)
            part = lists.Stored(given_lists, forward, totals)
            with pytest.raises(ValueError, match="outside"):
                query.nearest([part], None, 0.0, 5, 1)


def check_centroids(parts: list[Any], rows: int, query: Any, codes: list[Any], allowed: Any, k: int) -> None:
    everything = query.distances(parts, np.arange(rows))
    choice = np.arange(rows) if allowed is None else np.flatnonzero(allowed)
    wanted = choice[np.lexsort((choice, everything[choice]))][:k]
    for threads in (1, 2):
        found = query.nearest(parts, codes, allowed, k, threads)
        np.testing.assert_array_equal(found.rows, wanted)
        np.testing.assert_array_equal(found.distances, everything[wanted])


def coded(bags: Bags, vectors: Any, kind: Any = np.uint8) -> tuple[centroids.CentroidPart, Any]:
    part = centroids.CentroidPart(stored(bags, kind))
    totals = np.array([sum(bag.values()) for bag in bags], dtype=np.float32)
    return part, centroids.Codes.of(part, totals, vectors).native


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    query=st.dictionaries(st.integers(0, WORDS - 1), st.integers(1, 9), min_size=1, max_size=6),
    dimensions=st.sampled_from([1, 3, 46, 47, 60, 100]),
    shift=st.sampled_from([0.0, 30.0]),
    k=st.sampled_from([1, 10, 500]),
)
def test_nearest_centroids(seed: int, query: dict[int, int], dimensions: int, shift: float, k: int) -> None:
    """Through codes as by the reference, also where centroids lie close together and far from the origin."""
    rng = np.random.default_rng(seed)
    vectors = (rng.normal(size=(WORDS, dimensions)) + shift).astype(np.float32)
    bags = some_bags(rng, 300, 9)
    bags[7] = dict(query)  # at distance 0
    made = [coded(bags[:90], vectors), coded(bags[90:], vectors)]
    parts, codes = [part for part, _ in made], [code for _, code in made]
    masses = np.array([query[w] / sum(query.values()) for w in sorted(query)], dtype=np.float32)
    asked = centroids.CentroidQuery(np.array(sorted(query), np.int32), masses, vectors)
    for allowed in (None, rng.random(300) < 0.5):
        check_centroids(parts, 300, asked, codes, allowed, k)
    x = {w: c / sum(query.values()) for w, c in query.items()}
    for bag, distance in zip(bags, asked.distances(parts, np.arange(300)).tolist(), strict=True):
        y = {w: c / sum(bag.values()) for w, c in bag.items()}
        wanted = reference.wcd(x, y, vectors) if y else np.inf
        assert distance == pytest.approx(wanted, rel=1e-5, abs=2e-6 * (1 + shift))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    query=st.dictionaries(st.integers(0, WORDS - 1), st.integers(1, 9), max_size=6),
    other_query=st.dictionaries(st.integers(0, 9), st.integers(1, 9), min_size=1, max_size=4),
    dimensions=st.sampled_from([1, 3, 70]),
    growth=st.sampled_from(["counts", "logarithm", "saturation"]),
    far=st.sampled_from([0.0, 1.5, 30.0]),
    frequent=st.sampled_from([0, 3, 1000]),
)
def test_nearest_weighed_centroids(
    seed: int,
    query: dict[int, int],
    other_query: dict[int, int],
    dimensions: int,
    growth: str,
    far: float,
    frequent: int,
) -> None:
    """By the reference, where each word without a vector has a dimension of its own; two of them no document has."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(WORDS, dimensions)).astype(np.float32)
    bags = some_bags(rng, 200, 9)
    others = [{w: 1 + w % 3 for w in rng.integers(0, 8, size=rng.integers(0, 4)).tolist()} for _ in bags]
    weights, room = np.exp(rng.normal(size=WORDS + 8)), rng.random(200) * 10

    def counted(row: int, count: int) -> float:
        saturated = count * (1 + room[row]) / (count + room[row])
        return {"counts": count, "logarithm": 1 + math.log(count), "saturation": saturated}[growth]

    documents = [
        {w: counted(row, c) * weights[w] for w, c in {**bag, **{WORDS + w: c for w, c in more.items()}}.items()}
        for row, (bag, more) in enumerate(zip(bags, others, strict=True))
    ]
    parts, codes = [], []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "_FEWEST", 1)
        patch.setattr(lists, "_FREQUENT", frequent)
        for some in (slice(0, 70), slice(70, 200)):
            totals = np.array([sum(document.values()) for document in documents[some]])
            both = (stored(kind[some], np.uint8, totals.astype(np.float32)) for kind in (bags, others))
            repeats = native.Repeats(growth, room[some] if growth == "saturation" else None)
            weighed = lists.WeighedStored(*both, totals, 100.0, repeats)
            parts.append(
                centroids.CentroidPart.weighed(weighed, lists.WordWeights(weights[:WORDS], weights[WORDS:]), far)
            )
            codes.append(centroids.Codes.of(parts[-1], totals.astype(np.float32), vectors, 2).native)
    x = normalised({**query, **{WORDS + w: c for w, c in other_query.items()}})
    numbers = sorted(w for w in other_query if w < 8)
    asked = centroids.CentroidQuery(
        np.array(sorted(query), np.int32),
        np.array([x[w] for w in sorted(query)], np.float32),
        vectors,
        (np.array(numbers, np.int32), np.array([x[WORDS + w] for w in numbers], np.float32)),
        np.array([x[WORDS + w] for w in other_query if w >= 8], np.float32),
    )
    for allowed in (None, rng.random(200) < 0.5):
        for k in (1, 10, 500):
            check_centroids(parts, 200, asked, codes, allowed, k)
    wide = np.zeros((WORDS + 10, dimensions + 10))
    wide[:WORDS, :dimensions], wide[WORDS:, dimensions:] = vectors, np.eye(10) * far / np.sqrt(2)
    for document, distance in zip(documents, asked.distances(parts, np.arange(200)).tolist(), strict=True):
        wanted = reference.wcd(x, normalised(document), wide) if document else np.inf
        assert distance == pytest.approx(wanted, rel=1e-5, abs=2e-6 * (1 + far))


def test_centroids_over_several_blocks() -> None:
    """Most documents are ruled out by their codes; those that are unlike the sample are not."""
    rng = np.random.default_rng(6)
    vectors = rng.normal(size=(WORDS, 70)).astype(np.float32)
    vectors[-1] *= 1000  # a word that the sample has not seen: its codes are cut short
    bags = some_bags(rng, lists.BLOCK + 300, 12)
    bags = [{w: c for w, c in bag.items() if w != WORDS - 1} for bag in bags]
    bags[lists.BLOCK + 77] = {WORDS - 1: 1}
    part, codes = coded(bags, vectors)
    for words in ([3, 9], [WORDS - 1], [0, 1, 2, 30]):
        masses = np.full(len(words), 1 / len(words), np.float32)
        query = centroids.CentroidQuery(np.array(words, np.int32), masses, vectors)
        check_centroids([part], len(bags), query, [codes], None, 10)
        assert query.nearest([part], [codes], None, 3, 1).evaluated < 2000


def test_codes_of_another_part_are_refused() -> None:
    rng = np.random.default_rng(6)
    vectors = rng.normal(size=(WORDS, 5)).astype(np.float32)
    (part, _), (_, codes) = coded(some_bags(rng, 40), vectors), coded(some_bags(rng, 90), vectors)
    query = centroids.CentroidQuery(np.array([1], np.int32), np.ones(1, np.float32), vectors)
    with pytest.raises(ValueError, match="not those of the part"):
        query.nearest([part], [codes], None, 3, 1)

"""The exact graph against brute force in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordferry import Embeddings, RelatedWords
from wordferry.errors import InputError, VocabularyMismatch
from wordferry.kernels import reference


def words(n):
    return [f"w{i}" for i in range(n)]


def brute_force(matrix, r):
    """Own lists, their distances and c_max, from differences in float64."""
    x = np.asarray(matrix, np.float64)
    n = len(x)
    own, near, far = [], [], []
    for i in range(n):
        distance = np.sqrt(((x - x[i]) ** 2).sum(axis=1))
        order = [j for j in np.lexsort((np.arange(n), distance)) if j != i]
        own.append(order[:r])
        near.append(distance[order[:r]])
        far.append(distance[order[r:]])
    rest = np.concatenate(far)
    return np.array(own), np.array(near), float(rest.mean()) if len(rest) else math.nan


def check(embeddings, r, **options):
    related = RelatedWords.build(embeddings, r, "exact", **options)
    own, near, c_max = brute_force(embeddings.matrix, r)
    n = len(embeddings)
    assert related.own.shape == (n, min(r, n - 1))
    assert related.own.tolist() == own.tolist()
    np.testing.assert_allclose(related.own_distances, near, rtol=1e-6, atol=0)
    if math.isnan(c_max):
        assert math.isnan(related.c_max)
    else:
        assert related.c_max == pytest.approx(c_max, rel=1e-6, abs=1e-12)
    union = {(i, j) for i in range(n) for j in own[i]} | {(j, i) for i in range(n) for j in own[i]}
    graph = related.graph
    assert {(int(i), int(j)) for i, j in zip(*graph.nonzero(), strict=True)} <= union
    assert graph.nnz == len(union)
    assert (abs(graph - graph.T)).max() == 0 if graph.nnz else True
    for i in range(n):
        row = graph.indices[graph.indptr[i] : graph.indptr[i + 1]]
        assert (np.diff(row) > 0).all()
        assert i not in row
    return related


SHAPES = [(1, 1, 1), (1, 3, 4), (2, 2, 1), (2, 2, 7), (3, 5, 1), (17, 4, 16), (17, 4, 15), (200, 3, 5), (700, 19, 16)]


@pytest.mark.parametrize(("n", "d", "r"), SHAPES)
@pytest.mark.parametrize("normalize", [True, False])
def test_random(n, d, r, normalize):
    matrix = np.random.default_rng(n * 31 + r).standard_normal((n, d)) * (1 if normalize else 5)
    check(Embeddings(words(n), matrix, normalize=normalize), r)


@given(st.data())
def test_ties_on_a_grid(data):
    """Small whole numbers: many equal distances and duplicate vectors, all exact in floating point."""
    n = data.draw(st.integers(2, 40))
    d = data.draw(st.integers(1, 3))
    numbers = data.draw(st.lists(st.integers(-2, 2), min_size=n * d, max_size=n * d))
    r = data.draw(st.integers(1, n + 1))
    check(Embeddings(words(n), np.array(numbers, float).reshape(n, d), normalize=False), r, threads=1)


def test_all_vectors_equal():
    related = check(Embeddings(words(150), np.full((150, 7), 0.3)), 4)
    assert related.c_max == 0.0
    assert related.own[0].tolist() == [1, 2, 3, 4]
    assert related.own[100].tolist() == [0, 1, 2, 3]


def test_many_equal_vectors_with_others():
    """c_max may not fall below 0 by rounding, nor an equal word be counted as far."""
    related = check(Embeddings(words(900), np.repeat([[0.1, 0.7], [0.3, -0.4]], [899, 1], axis=0)), 3)
    assert related.c_max > 0
    assert RelatedWords.build(Embeddings(words(900), np.full((900, 2), 0.1)), 3).c_max >= 0


def test_near_duplicates_are_ordered_by_true_distance():
    """Distances of 1e-4 between unit vectors vanish in |x|^2 + |y|^2 - 2xy as float32 gives it."""
    rng = np.random.default_rng(5)
    base = rng.standard_normal((1, 300))
    base /= np.linalg.norm(base)
    matrix = base + rng.standard_normal((400, 300)) * rng.choice([1e-6, 1e-5, 1e-4], size=(400, 1)) / 17
    check(Embeddings(words(400), matrix), 8)


def test_wildly_different_lengths():
    rng = np.random.default_rng(6)
    matrix = rng.standard_normal((300, 6)) * 10.0 ** rng.integers(-6, 6, size=(300, 1))
    check(Embeddings(words(300), matrix, normalize=False), 5)


@pytest.mark.parametrize("scale", [1e-17, 1e17])
def test_lengths_at_the_ends_of_what_is_allowed(scale):
    matrix = np.random.default_rng(7).standard_normal((120, 6)) * scale
    related = check(Embeddings(words(120), matrix, normalize=False), 5)
    assert related.c_max > 0


def test_zero_vector_without_normalising():
    check(Embeddings(words(4), [[0, 0], [1, 0], [0, 2], [0, 0]], normalize=False), 2)
    with pytest.raises(InputError, match="w0"):
        Embeddings(words(2), [[0, 0], [1, 0]])


@pytest.mark.parametrize("r", [0, -1, 1.5, True, "16"])
def test_bad_r(r):
    with pytest.raises(InputError, match="r must be"):
        RelatedWords.build(Embeddings(words(3), np.eye(3)), r)


def test_bad_method():
    with pytest.raises(InputError, match="exact"):
        RelatedWords.build(Embeddings(words(3), np.eye(3)), 1, "fast")


def test_same_answer_for_any_threads_and_memory():
    embeddings = Embeddings(words(900), np.random.default_rng(8).standard_normal((900, 12)))
    first = RelatedWords.build(embeddings, 9, threads=1)
    for options in ({"threads": 2}, {"threads": 5}, {"threads": 3, "memory": 1}):
        other = RelatedWords.build(embeddings, 9, **options)
        assert (other.own == first.own).all()
        assert (other.graph != first.graph).nnz == 0
        assert other.c_max == pytest.approx(first.c_max, rel=1e-8)
    assert RelatedWords.build(embeddings, 9, threads=2).c_max == first.c_max


@pytest.mark.parametrize("kind", ["float16", "fortran", "memory-mapped", "integers"])
def test_input_flavours(kind, tmp_path):
    matrix = np.random.default_rng(9).integers(-8, 9, size=(90, 6)) + 0.5
    if kind == "float16":
        matrix = matrix.astype(np.float16)
    elif kind == "fortran":
        matrix = np.asfortranarray(matrix)
    elif kind == "memory-mapped":
        np.save(tmp_path / "m.npy", matrix.astype(np.float32))
        matrix = np.load(tmp_path / "m.npy", mmap_mode="r")
    else:
        matrix = (matrix * 2).astype(np.int64)
    check(Embeddings(words(90), matrix, normalize=False), 4)


@pytest.mark.parametrize("n", [2, 9, 130])
def test_restrict_equals_building(n):
    embeddings = Embeddings(words(n), np.random.default_rng(n).standard_normal((n, 5)))
    large = RelatedWords.build(embeddings, 12, "exact")
    for r in (1, 2, 7, 11, 12):
        small, fresh = large.restrict(r), RelatedWords.build(embeddings, r, "exact")
        assert (small.own == fresh.own).all()
        assert (small.graph != fresh.graph).nnz == 0
        assert small.c_max == pytest.approx(fresh.c_max, rel=1e-9, nan_ok=True)
        assert small.record == fresh.record
    if n > 13:
        with pytest.raises(InputError, match="r=13 is larger"):
            large.restrict(13)


@pytest.mark.parametrize(("old", "new", "r"), [(1, 1, 1), (1, 30, 3), (5, 90, 8), (80, 1, 8), (200, 150, 16)])
def test_extend_equals_building(old, new, r):
    rng = np.random.default_rng(old)
    matrix = rng.integers(-2, 3, size=(old + new, 4)) * 1.0
    matrix[:, 0] = 1
    everything = Embeddings(words(old + new), matrix)
    start = RelatedWords.build(everything.restrict(np.arange(old)), r, "exact")
    grown, fresh = start.extend(everything), RelatedWords.build(everything, r, "exact")
    assert (grown.own == fresh.own).all()
    assert (grown.graph != fresh.graph).nnz == 0
    assert grown.c_max == pytest.approx(fresh.c_max, rel=1e-7, nan_ok=True)
    assert grown.fingerprint == fresh.fingerprint
    assert grown.record == fresh.record
    assert start.extend(everything.restrict(np.arange(old))) is start


def test_extend_in_many_steps():
    """Distances of 1e17 (scaled inside) and 1: word after word, some of which change no old list."""
    for scale in (1.0, 1e17):
        rng = np.random.default_rng(12)
        everything = Embeddings(words(60), rng.integers(-4, 5, size=(60, 2)) * scale, normalize=False)
        related = RelatedWords.build(everything.restrict(np.arange(20)), 3, "exact")
        for n in range(21, 61):
            related = related.extend(everything.restrict(np.arange(n)))
        fresh = RelatedWords.build(everything, 3, "exact")
        assert (related.own == fresh.own).all()
        assert (related.own_distances == fresh.own_distances).all()
        assert related.c_max == pytest.approx(fresh.c_max, rel=1e-6)
        assert related.restrict(1).c_max == pytest.approx(fresh.restrict(1).c_max, rel=1e-6)


def test_extend_refuses_other_words():
    embeddings = Embeddings(words(6), np.random.default_rng(0).standard_normal((6, 3)))
    related = RelatedWords.build(embeddings, 2)
    with pytest.raises(VocabularyMismatch, match="same order"):
        related.extend(embeddings.restrict(np.arange(6)[::-1].copy()))
    with pytest.raises(VocabularyMismatch, match="other embeddings"):
        related.extend(Embeddings(words(6), np.random.default_rng(1).standard_normal((6, 3))))


@pytest.mark.parametrize(("n", "r"), [(1, 1), (4, 3), (60, 5)])
def test_rows_of_outside_words(n, r):
    rng = np.random.default_rng(3)
    embeddings = Embeddings(words(n), rng.integers(-2, 3, size=(n, 3)) + 0.25)
    queries = Embeddings(words(20), rng.integers(-2, 3, size=(20, 3)) + 0.25).matrix
    related = RelatedWords.build(embeddings, r)
    rows = related.rows_for(queries, embeddings)
    assert rows.shape == (20, n)
    x = embeddings.matrix.astype(np.float64)
    for q in range(20):
        distance = np.sqrt(((x - queries[q]) ** 2).sum(axis=1))
        expected = set(np.lexsort((np.arange(n), distance))[:r].tolist())
        if r >= n - 1:
            expected = set(range(n))
        else:
            expected |= set(np.flatnonzero(distance.astype(np.float32) <= related.own_distances[:, -1]).tolist())
        span = slice(rows.indptr[q], rows.indptr[q + 1])
        assert rows.indices[span].tolist() == sorted(expected)
        np.testing.assert_allclose(rows.data[span], distance[sorted(expected)], rtol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 1e17])
def test_many_outside_words_are_treated_as_few(scale):
    rng = np.random.default_rng(11)
    matrix = rng.integers(-3, 4, size=(2500, 4)) * scale  # many ties, and queries that are words
    embeddings = Embeddings(words(2500), matrix, normalize=False)
    queries = (rng.integers(-3, 4, size=(70, 4)) * scale).astype(np.float32)
    related = RelatedWords.build(embeddings, 6)
    many = related.rows_for(queries, embeddings)
    for start in range(0, 70, 7):
        few = related.rows_for(queries[start : start + 7], embeddings)
        assert (few != many[start : start + 7]).nnz == 0
        assert (few.indptr == many[start : start + 7].indptr).all()


def test_rows_for_checks_its_input():
    embeddings = Embeddings(words(6), np.random.default_rng(0).standard_normal((6, 3)))
    related = RelatedWords.build(embeddings, 2)
    assert related.rows_for(np.empty((0, 3)), embeddings).shape == (0, 6)
    with pytest.raises(InputError, match="3"):
        related.rows_for(np.ones((1, 2)), embeddings)
    with pytest.raises(InputError, match="NaN"):
        related.rows_for([[1, np.nan, 0]], embeddings)
    with pytest.raises(VocabularyMismatch):
        related.rows_for(np.ones((1, 3)), embeddings.restrict(np.arange(5)))


def test_neighbours_by_name():
    embeddings = Embeddings(["a", "b", "c"], [[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    related = RelatedWords.build(embeddings, r=1)
    assert [word for word, _ in related.neighbors("b")] == ["a", "c"]
    assert related.neighbors("a")[0][1] == pytest.approx(math.sqrt(0.4), abs=1e-6)


def test_golden_graph(golden):
    vectors = np.load(golden / "embeddings.npy")
    related = RelatedWords.build(Embeddings(words(len(vectors)), vectors), 16)
    assert related.c_max == pytest.approx(1.32184185, abs=1e-7)
    cache = np.load(golden / "related_r16.npz")
    theirs = {(i, j) for i, j in zip(cache["i"].tolist(), cache["j"].tolist(), strict=True) if i != j}
    assert set(zip(*(part.tolist() for part in related.graph.nonzero()), strict=True)) == theirs


@given(st.integers(3, 40), st.integers(0, 45), st.integers(1, 6), st.integers(0, 99))
def test_words_outside_are_joined_as_the_reference_says(inside, outside, r, seed):
    """Also to each other; more than a few of them go by tiles."""
    rng = np.random.default_rng(seed)
    vectors = Embeddings(words(inside + outside), rng.standard_normal((inside + outside, 4)))
    known = vectors.restrict(np.arange(inside))
    related = RelatedWords.build(known, r)
    graph, c_max = reference.related_words(vectors.matrix, r, range(inside, inside + outside))
    assert related.c_max == pytest.approx(c_max, nan_ok=True)
    queries = vectors.matrix[inside:]
    rows = related.rows_for(queries, known)
    found = {(inside + int(q), int(j)) for q, j in zip(*rows.nonzero(), strict=True)}
    assert found == {(i, j) for i in range(inside, inside + outside) for j in graph[i] if j < inside}
    first, second, distances = related.outside_pairs(queries, rows)
    assert dict(zip(zip(first + inside, second + inside, strict=True), distances, strict=True)) == pytest.approx(
        {(i, j): graph[i][j] for i in range(inside, inside + outside) for j in graph[i] if j > i}, abs=1e-6
    )

"""Rows of the related-word graph for query words that are not in its vocabulary."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordferry.base.arrays import Float32Array, Float64Array, Int32Array, Int64Array
from wordferry.base.runtime import run_jobs
from wordferry.kernels import native
from wordferry.kernels.native import Candidates
from wordferry.words.related.exact import scaled_points

FEW = 32
"""Up to this many query words are compared one by one; more, by tiles of one product."""
_QUERIES, _WORDS = 512, 2048


def outside_rows(
    queries: Float32Array,
    matrix: Float32Array,
    reach: Float32Array | None,
    r: int,
    threads: int,
    words: Int32Array | None = None,
) -> tuple[Int64Array, Int32Array, Float32Array]:
    """indptr, indices and distances of (queries x words): j is related to q when it is among the r nearest of q, or
    q at most ``reach[j]`` away from it. ``reach`` None: every pair is related. ``words`` are the rows of the matrix
    that count, in their order; None: all of them."""
    if len(queries) <= FEW or reach is None:
        everything = np.arange(len(matrix), dtype=np.int32) if words is None else words
        rows, columns = _one_by_one(queries, matrix, everything, reach, r, threads)
        data = native.pair_distances(queries, matrix, rows, everything[columns], threads)
    else:
        some = matrix if words is None else np.ascontiguousarray(matrix[words])
        rows, columns = _by_tiles(queries, some, reach, r, threads)
        data = native.pair_distances(queries, some, rows, columns, threads)
    indptr = np.searchsorted(rows, np.arange(len(queries) + 1)).astype(np.int64)
    return indptr, columns, data.astype(np.float32)


def outside_pairs(queries: Float32Array, rows: Any, r: int | None) -> tuple[Int32Array, Int32Array, Float32Array]:
    """Pairs i < j of query words at most as far apart as one of them is from its r-th nearest word, by ``rows``.

    ``r`` None: every pair is related.
    """
    reach = np.full(len(queries), np.inf, dtype=np.float32)
    if r is not None:
        for query in range(len(queries)):
            known = rows.data[rows.indptr[query] : rows.indptr[query + 1]]
            reach[query] = np.partition(known, r - 1)[r - 1]
    if len(queries) < 2:
        nothing = np.empty(0, np.int32)
        return nothing, nothing, np.empty(0, np.float32)
    indptr, second, distances = outside_rows(queries, queries, reach, 1, 1)
    first = np.repeat(np.arange(len(queries), dtype=np.int32), np.diff(indptr))
    near = (distances <= reach[second]) & (first != second)
    low, high = np.minimum(first, second)[near], np.maximum(first, second)[near]
    _, once = np.unique(low.astype(np.int64) * len(queries) + high, return_index=True)
    return low[once], high[once], distances[near][once]


def _one_by_one(
    queries: Float32Array, matrix: Float32Array, words: Int32Array, reach: Float32Array | None, r: int, threads: int
) -> tuple[Int32Array, Int32Array]:
    found = []
    for query in range(len(queries)):
        if reach is None:
            found.append(np.arange(len(words), dtype=np.int32))
            continue
        distances = native.pair_distances(queries, matrix, np.full_like(words, query), words, threads)
        near = distances.astype(np.float32) <= reach
        near[_nearest(distances, r)] = True
        found.append(np.flatnonzero(near).astype(np.int32))
    rows = np.repeat(np.arange(len(queries), dtype=np.int32), [len(columns) for columns in found])
    return rows, np.concatenate(found) if found else np.empty(0, np.int32)


def _nearest(distances: Float64Array, r: int) -> Any:
    """Places of the r smallest, ties to the smaller place."""
    last = np.partition(distances, r - 1)[r - 1]
    places = np.flatnonzero(distances <= last)
    return places[np.argsort(distances[places], kind="stable")[:r]]


def _by_tiles(
    queries: Float32Array, matrix: Float32Array, reach: Float32Array, r: int, threads: int
) -> tuple[Int32Array, Int32Array]:
    n, q = len(matrix), len(queries)
    points, unit = scaled_points(np.concatenate([matrix, queries]))
    candidates = Candidates(n + q, r)
    ids = np.arange(n + q, dtype=np.int32)
    error = native.product_error(matrix.shape[1]) * 1.01
    reach_squares = (reach.astype(np.float64) / unit) ** 2 * (1 + 1e-6)
    within: dict[tuple[int, int], tuple[Int32Array, Int32Array]] = {}

    def work(tile: tuple[int, int]) -> float:
        first, start = tile
        rows = slice(n + first, n + min(first + _QUERIES, q))
        columns = slice(start, min(start + _WORDS, n))
        products = points.vectors[rows] @ points.vectors[columns].T
        native.select_tile(products, ids[rows], ids[columns], False, False, points.native, candidates)
        both = points.norms[rows][:, None] + points.norms[columns]
        both *= np.float32(1 - error)
        limits = reach_squares[columns].astype(np.float32)
        inside = np.nonzero(both - 2 * products <= limits)
        within[tile] = (inside[0] + first).astype(np.int32), (inside[1] + start).astype(np.int32)
        return 0.0

    tiles = [(first, start) for first in range(0, q, _QUERIES) for start in range(0, n, _WORDS)]
    run_jobs(tiles, work, threads, lambda done, total: None)
    own, _ = native.rank_candidates(points.native, candidates, ids[n:], threads)
    rows = np.concatenate([within[tile][0] for tile in tiles])
    columns = np.concatenate([within[tile][1] for tile in tiles])
    distances = native.pair_distances(queries, matrix, rows, columns, threads)
    kept = distances.astype(np.float32) <= reach[columns]
    key = rows[kept].astype(np.int64) * n + columns[kept]
    own_key = np.repeat(np.arange(q, dtype=np.int64), r) * n + own.ravel()
    key = np.unique(np.concatenate([key, own_key]))
    return (key // n).astype(np.int32), (key % n).astype(np.int32)

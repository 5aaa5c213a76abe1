"""Near-duplicates and the k-nearest-neighbour graph: all documents against all, without the full matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any

import numpy as np

from wordferry.base.arrays import Float32Array, Int64Array
from wordferry.base.lazy import is_sparse
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import Progress
from wordferry.compare.plan import fill
from wordferry.compare.problem import Problem
from wordferry.compare.search import Searcher, nearest
from wordferry.index.joining import Join

BLOCK_VALUES = 1 << 24
"""Distances held at once: 64 MB."""
_TOGETHER = 64
"""Documents of pairs whose distances are computed at once."""
_ROUNDING = 1e-4
"""How far a bound in float32 may lie above the value it bounds, relative to the threshold or to 1."""


def close_pairs(
    searcher: Searcher, threshold: float, *, threads: int | None, progress: Progress | None
) -> Iterator[tuple[Int64Array, Int64Array, Float32Array]]:
    """All pairs of documents of a searcher (i < j) at a distance of at most the threshold, block by block.

    Where words that are not shared must move, only pairs are computed that share enough; else, where there is a cheaper
    distance that never exceeds this one, only pairs that pass it.
    """
    whole = searcher.among(slice(0, len(searcher)), threads=threads)
    least = whole.distance.least_moves(whole) if whole.side == "both" and len(whole.y) == len(searcher) else None
    if least is not None:
        join = Join.of(whole.y.masses, least, loosened(threshold))
        if join.pays:
            yield from _joined(whole, join, threshold, progress)
            return
    yield from _all_pairs(searcher, threshold, threads=threads, progress=progress)


def _joined(
    whole: Problem, join: Join, threshold: float, progress: Progress | None
) -> Iterator[tuple[Int64Array, Int64Array, Float32Array]]:
    """The close pairs among those that a join finds, and among documents that need share nothing."""
    loose, total = join.loose, whole.shape[0]
    i, j = np.triu_indices(len(loose), 1)
    first = [(0, (loose[i], loose[j]))] if len(i) else []
    for done, (i, j) in chain(first, join.blocks()):
        near = _values(whole, i, j, threshold)
        kept = near <= threshold
        yield i[kept], j[kept], near[kept]
        if progress is not None:
            progress(done, total)


def _values(whole: Problem, i: Int64Array, j: Int64Array, threshold: float) -> Float32Array:
    """Distances of pairs; infinite where a cheaper distance already is above the threshold."""
    bounds = whole.distance.bounds(whole.overlap, whole.frame.unknown is not None)
    if not bounds:
        return _grouped(whole, i, j)
    out = np.full(len(i), np.inf, dtype=np.float32)
    passed = np.flatnonzero(_grouped(whole.by(*bounds[0]), i, j) <= loosened(threshold))
    out[passed] = _chosen(whole, i[passed], j[passed])
    return out


def _grouped(whole: Problem, i: Int64Array, j: Int64Array) -> Float32Array:
    """Distances of the pairs (i, j), given with i rising: some documents at a time against all of their partners."""
    out = np.empty(len(i), dtype=np.float32)
    starts = np.unique(i, return_index=True)[1]
    for low, high in pairwise([*starts[::_TOGETHER], len(i)]):
        rows, place = np.unique(i[low:high], return_inverse=True)
        columns, other = np.unique(j[low:high], return_inverse=True)
        part = replace(whole, x=whole.y.take(rows), y=whole.y.take(columns))
        out[low:high] = fill(part, np.empty(part.shape, dtype=np.float32))[place, other]
    return out


def _all_pairs(
    searcher: Searcher, threshold: float, *, threads: int | None, progress: Progress | None
) -> Iterator[tuple[Int64Array, Int64Array, Float32Array]]:
    """The close pairs, by comparing all documents with each other."""
    total, start = len(searcher), 0
    while start < total:
        stop = min(total, start + max(1, BLOCK_VALUES // max(1, total - start)))
        block = searcher.among(slice(start, stop), threads=threads).part(slice(0, stop - start), slice(start, total))
        bounds = block.distance.bounds(block.overlap, block.frame.unknown is not None)
        first = block.by(*bounds[0]) if bounds else block
        values = fill(first, np.empty(block.shape, dtype=np.float32))
        i, j = np.nonzero(values <= (loosened(threshold) if bounds else threshold))
        i, j = i[j > i], j[j > i]
        near = _chosen(block, i, j) if bounds else values[i, j]
        kept = near <= threshold
        yield i[kept] + start, j[kept] + start, near[kept]
        start = stop
        if progress is not None:
            progress(start, total)


def loosened(threshold: float) -> float:
    """A threshold that no bound of a value below the true one can fail through rounding."""
    return threshold + _ROUNDING * max(1.0, abs(threshold))


def _chosen(block: Problem, i: Int64Array, j: Int64Array) -> Float32Array:
    """Distances of the pairs (i, j) of a problem, given with i rising; each row has a problem of its own."""
    out = np.empty(len(i), dtype=np.float32)
    rows, starts = np.unique(i, return_index=True)
    for row, (low, high) in zip(rows.tolist(), pairwise([*starts, len(i)]), strict=True):
        part = replace(block, x=block.x.slice(row, row + 1), y=block.y.take(j[low:high]))
        out[low:high] = fill(part, np.empty(part.shape, dtype=np.float32))[0]
    return out


def pairs_between(
    searcher: Searcher, given: Any, threshold: float, *, threads: int | None, progress: Progress | None = None
) -> Iterator[tuple[int, int, float]]:
    """All (document of the collection, one of those given, distance) of at most the threshold, block by block."""
    step, total = max(1, BLOCK_VALUES // max(1, len(searcher))), given.shape[0] if is_sparse(given) else len(given)
    for start in range(0, total, step):
        problem = searcher.problem(given[start : start + step], threads=threads)
        values = fill(problem, np.empty(problem.shape, dtype=np.float32))
        for j, i in np.argwhere(values <= threshold).tolist():
            yield i, j + start, float(values[j, i])
        if progress is not None:
            progress(min(start + step, total), total)


def neighbour_graph(searcher: Searcher, k: int, *, threads: int | None, progress: Progress | None) -> sp.csr_array:
    """The k nearest others of each document, as a CSR matrix of distances (zeros between equal ones are stored)."""
    total = len(searcher)
    k = min(k, total - 1)
    indices = np.empty((total, max(k, 0)), dtype=np.int64)
    distances = np.empty((total, max(k, 0)), dtype=np.float32)
    block = 1024
    for start in range(0, total if k > 0 else 0, block):
        stop = min(total, start + block)
        near = nearest(searcher.among(slice(start, stop), threads=threads), k + 1).without_self(start)
        indices[start:stop], distances[start:stop] = near.indices, near.distances
        if progress is not None:
            progress(stop, total)
    indptr = np.arange(total + 1, dtype=np.int64) * max(k, 0)
    return sp.csr_array((distances.ravel(), indices.ravel(), indptr), shape=(total, total))

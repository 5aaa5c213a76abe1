"""Near-duplicates and the k-nearest-neighbour graph: all documents against all, without the full matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from wordferry.base.arrays import Float32Array, Int64Array
from wordferry.base.runtime import Progress
from wordferry.compare.plan import fill
from wordferry.compare.problem import Problem
from wordferry.compare.search import Searcher, nearest

BLOCK_VALUES = 1 << 24
"""Distances held at once: 64 MB."""
_ROUNDING = 1e-4
"""How far a bound in float32 may lie above the value it bounds, relative to the threshold or to 1."""


def close_pairs(
    searcher: Searcher, threshold: float, *, threads: int | None, progress: Progress | None
) -> Iterator[tuple[Int64Array, Int64Array, Float32Array]]:
    """All pairs of documents of a searcher (i < j) at a distance of at most the threshold, block by block.

    Where there is a cheaper distance that never exceeds this one, only pairs that pass it are computed.
    """
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
    for row, low, high in zip(rows.tolist(), starts, [*starts[1:], len(i)], strict=True):
        part = replace(block, x=block.x.slice(row, row + 1), y=block.y.take(j[low:high]))
        out[low:high] = fill(part, np.empty(part.shape, dtype=np.float32))[0]
    return out


def pairs_between(
    searcher: Searcher, given: Any, threshold: float, *, threads: int | None, progress: Progress | None = None
) -> Iterator[tuple[int, int, float]]:
    """All (document of the collection, one of those given, distance) of at most the threshold, block by block."""
    step, total = max(1, BLOCK_VALUES // max(1, len(searcher))), given.shape[0] if sp.issparse(given) else len(given)
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

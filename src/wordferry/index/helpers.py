"""Near-duplicates and the k-nearest-neighbour graph: all documents against all, without the full matrix."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from wordferry.base.arrays import Float32Array, Int64Array
from wordferry.base.runtime import Progress
from wordferry.compare.calls import pairwise
from wordferry.compare.plan import fill
from wordferry.compare.search import Searcher

BLOCK_VALUES = 1 << 24
"""Distances held at once: 64 MB."""
_ROUNDING = 1e-4
"""How far a bound in float32 may lie above the value it bounds, relative to the threshold or to 1."""


def close_pairs(
    exact: Searcher,
    bound: Searcher | None,
    matrix: sp.csr_array,
    threshold: float,
    *,
    threads: int | None,
    progress: Progress | None,
) -> Iterator[tuple[Int64Array, Int64Array, Float32Array]]:
    """All pairs of rows (i < j) at a distance of at most the threshold, block by block.

    ``bound`` is a searcher over the same documents for a distance that never exceeds the exact one and is cheaper:
    only pairs that pass it are computed.
    """
    total = matrix.shape[0]
    start = 0
    while start < total:
        stop = min(total, start + max(1, BLOCK_VALUES // max(1, total - start)))
        values = _block(exact if bound is None else bound, matrix, start, stop, threads)
        i, j = np.nonzero(values <= (threshold if bound is None else loosened(threshold)))
        kept = j > i
        i, j, near = i[kept] + start, j[kept] + start, values[i[kept], j[kept]]
        if bound is not None:
            near = _chosen(exact, matrix, i, j, threads)
            i, j, near = i[near <= threshold], j[near <= threshold], near[near <= threshold]
        yield i, j, near
        start = stop
        if progress is not None:
            progress(start, total)


def loosened(threshold: float) -> float:
    """A threshold that no bound of a value below the true one can fail through rounding."""
    return threshold + _ROUNDING * max(1.0, abs(threshold))


def _block(searcher: Searcher, matrix: sp.csr_array, start: int, stop: int, threads: int | None) -> Float32Array:
    """Distances of rows start .. stop to all rows from start on."""
    problem = searcher.problem(matrix[start:stop], threads=threads)
    part = problem.part(slice(0, stop - start), slice(start, problem.shape[1]))
    return fill(part, np.empty(part.shape, dtype=np.float32))


def _chosen(
    searcher: Searcher, matrix: sp.csr_array, i: Int64Array, j: Int64Array, threads: int | None
) -> Float32Array:
    """Distances of the pairs (i, j), given with i rising; each row has a problem of its own, over few words."""
    out = np.empty(len(i), dtype=np.float32)
    rows, starts = np.unique(i, return_index=True)
    options = searcher.options
    for row, low, high in zip(rows.tolist(), starts, [*starts[1:], len(i)], strict=True):
        out[low:high] = pairwise(
            matrix[row : row + 1],
            matrix[j[low:high]],
            options.distance,
            embeddings=searcher.embeddings,
            related=searcher.related,
            overlap=options.overlap,
            on_empty="keep",
            threads=threads,
        )[0]
    return out


def pairs_between(
    searcher: Searcher, matrix: sp.csr_array, threshold: float, *, threads: int | None, progress: Progress | None = None
) -> Iterator[tuple[int, int, float]]:
    """All (row of the collection, row of ``matrix``, distance) of at most the threshold, block by block."""
    step = max(1, BLOCK_VALUES // max(1, len(searcher)))
    for start in range(0, matrix.shape[0], step):
        problem = searcher.problem(matrix[start : start + step], threads=threads)
        values = fill(problem, np.empty(problem.shape, dtype=np.float32))
        for j, i in np.argwhere(values <= threshold).tolist():
            yield i, j + start, float(values[j, i])
        if progress is not None:
            progress(min(start + step, matrix.shape[0]), matrix.shape[0])


def neighbour_graph(
    searcher: Searcher, matrix: sp.csr_array, k: int, *, threads: int | None, progress: Progress | None
) -> sp.csr_array:
    """The k nearest other rows of each row as a CSR matrix of distances (zeros between equal documents are stored)."""
    total = matrix.shape[0]
    k = min(k, total - 1)
    indices = np.empty((total, max(k, 0)), dtype=np.int64)
    distances = np.empty((total, max(k, 0)), dtype=np.float32)
    block = 1024
    for start in range(0, total if k > 0 else 0, block):
        stop = min(total, start + block)
        near = searcher.top_k(matrix[start:stop], k + 1, threads=threads).without_self(start)
        indices[start:stop], distances[start:stop] = near.indices, near.distances
        if progress is not None:
            progress(stop, total)
    indptr = np.arange(total + 1, dtype=np.int64) * max(k, 0)
    return sp.csr_array((distances.ravel(), indices.ravel(), indptr), shape=(total, total))

"""The one typed door to the C++ kernels: same names as there, arrays only, no decisions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wordferry import _native
from wordferry.base.arrays import Float32Array, Float64Array, Int32Array, Int64Array, UInt8Array


def cpu_variant() -> str:
    """The instruction-set variant that the kernels run as on this machine."""
    return _native.cpu_variant()


def parse_numbers(text: bytes, begin: int, out: Float32Array) -> bool:
    """Fill ``out`` with the numbers that stand in a line from ``begin`` on, one blank between them.

    False when the line holds anything else, or what only ``float`` takes for a number.
    """
    return _native.parse_numbers(text, begin, out)


@dataclass(frozen=True)
class Points:
    """Vectors and their squared norms (float32)."""

    vectors: Float32Array
    norms: Float32Array


@dataclass(frozen=True)
class Candidates:
    """Per word, what can still be among its r nearest: room for ``ids.shape[1]`` others each."""

    ids: Int32Array
    squares: Float32Array
    counts: Int32Array
    limits: Float32Array
    locks: UInt8Array
    r: int

    @classmethod
    def empty(cls, n: int, r: int) -> Candidates:
        room = r + max(r, 32)
        return cls(
            np.empty((n, room), np.int32),
            np.empty((n, room), np.float32),
            np.zeros(n, np.int32),
            np.full(n, np.inf, np.float32),
            np.zeros(n, np.uint8),
            r,
        )


def select_tile(
    products: Float32Array,
    row_ids: Int32Array,
    column_ids: Int32Array,
    points: Points,
    candidates: Candidates,
    *,
    mirror: bool,
    overlapping: bool = False,
) -> float:
    """Select from a tile of inner products; returns the sum of its distances (0 for ``overlapping`` tiles).

    With ``mirror`` the columns' words receive the rows' words too. ``overlapping`` tiles may show a pair that another
    tile has shown before.
    """
    return _native.related_select_tile(
        products,
        row_ids,
        column_ids,
        mirror,
        overlapping,
        points.vectors,
        points.norms,
        candidates.ids,
        candidates.squares,
        candidates.counts,
        candidates.limits,
        candidates.locks,
        candidates.r,
    )


def rank_candidates(
    points: Points, candidates: Candidates, words: Int32Array, threads: int
) -> tuple[Int32Array, Float64Array]:
    """Own neighbours of some words by (true distance, id), with -1 and inf where there are fewer than r."""
    count = len(words)
    own = np.empty((count, candidates.r), np.int32)
    distances = np.empty((count, candidates.r), np.float64)
    _native.related_rank(
        points.vectors,
        points.norms,
        candidates.ids,
        candidates.squares,
        candidates.counts,
        candidates.limits,
        candidates.locks,
        words,
        threads,
        own,
        distances,
    )
    return own, distances


def pair_distances(
    a: Float32Array, b: Float32Array, rows: Int32Array, columns: Int32Array, threads: int
) -> Float64Array:
    """True distances between ``a[rows]`` and ``b[columns]``, from differences in float64."""
    out = np.empty(len(rows), np.float64)
    _native.pair_distances(a, b, rows, columns, threads, out)
    return out


def product_error(dimensions: int) -> float:
    """How far |x|^2 + |y|^2 - 2xy in float32 can be from the squared distance, relative to |x|^2 + |y|^2."""
    return _native.product_error(dimensions)


def nearest_centroids(products: Float32Array, half_norms: Float32Array, count: int) -> Int32Array:
    """The ``count`` nearest centroids of each row, nearest first, from inner products and half squared norms."""
    out = np.empty((len(products), count), np.int32)
    _native.nearest_centroids(products, half_norms, out)
    return out


def union_graph(own: Int32Array, distances: Float32Array) -> tuple[Int64Array, Int32Array, Float32Array]:
    """indptr, indices and data of the graph that joins i and j when either lists the other."""
    indptr = np.empty(len(own) + 1, np.int64)
    _native.related_union_indptr(own, indptr)
    indices = np.empty(indptr[-1], np.int32)
    data = np.empty(indptr[-1], np.float32)
    _native.related_union_rows(own, distances, indptr, indices, data)
    return indptr, indices, data

"""The one typed door to the C++ kernels: same names as there, arrays only, no decisions."""

from __future__ import annotations

import numpy as np

from wordferry import _native
from wordferry.base.arrays import Float32Array, Float64Array, Int32Array

cpu_variant = _native.cpu_variant
"""The instruction-set variant that the kernels run as on this machine."""
parse_numbers = _native.parse_numbers
"""``parse_numbers(text, begin, out)`` fills ``out`` with the numbers of a line from ``begin`` on, one blank between
them; False when the line holds anything else, or what only ``float`` takes for a number."""
product_error = _native.product_error
"""How far |x|^2 + |y|^2 - 2xy in float32 can be from the squared distance, relative to |x|^2 + |y|^2, by dimensions."""
union_graph = _native.union_graph
"""``union_graph(own, distances)``: indptr, indices and data of the graph of i and j where either lists the other."""


class Points:
    """Vectors and their squared norms (float32), checked once: they must be finite."""

    def __init__(self, vectors: Float32Array, norms: Float32Array) -> None:
        self.vectors, self.norms = vectors, norms
        self.native = _native.Points(np.ascontiguousarray(vectors), np.ascontiguousarray(norms))


Candidates = _native.Candidates
"""Per word, what can still be among its r nearest: ``Candidates(words, r)``."""
Joining = _native.Joining
"""New words compared with all others, and which lists and rows of the graph change with them."""


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
    return _native.select_tile(products, row_ids, column_ids, mirror, overlapping, points.native, candidates)


def rank_candidates(
    points: Points, candidates: Candidates, words: Int32Array, threads: int
) -> tuple[Int32Array, Float64Array]:
    """Own neighbours of some words by (true distance, id), with -1 and inf where there are fewer than r."""
    shape = len(words), candidates.r
    own, distances = np.empty(shape, np.int32), np.empty(shape, np.float64)
    _native.rank_candidates(points.native, candidates, words, own, distances, threads)
    return own, distances


def pair_distances(
    a: Float32Array, b: Float32Array, rows: Int32Array, columns: Int32Array, threads: int
) -> Float64Array:
    """True distances between ``a[rows]`` and ``b[columns]``, from differences in float64."""
    out = np.empty(len(rows), np.float64)
    _native.pair_distances(a, b, rows, columns, threads, out)
    return out


def nearest_centroids(products: Float32Array, half_norms: Float32Array, count: int) -> Int32Array:
    """The ``count`` nearest centroids of each row, nearest first, from inner products and half squared norms."""
    out = np.empty((len(products), count), np.int32)
    _native.nearest_centroids(products, half_norms, out)
    return out

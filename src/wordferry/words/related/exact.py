"""Exact related words: tiles of one blocked matrix product, each looked at once for both of its sides."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from wordferry.base.arrays import Float32Array, Float64Array, Int32Array
from wordferry.base.runtime import Progress, run_jobs
from wordferry.kernels import native
from wordferry.kernels.native import Candidates, Points

TILE = 768
_RANK_ROWS = 65536


@dataclass(frozen=True)
class OwnLists:
    """Each word's own neighbours, nearest first, and the sums from which c_max follows for every r."""

    own: Int32Array
    distances: Float32Array
    rank_sums: Float64Array
    """For each place t of the lists, the sum over all words of the distance at that place."""
    total: float
    """The sum of the distances of all ordered pairs of different words."""

    def c_max(self, r: int) -> float:
        """Mean distance over ordered pairs whose second word is not among the first's own r nearest."""
        return mean_of_others(len(self.own), r, self.rank_sums, self.total)


def mean_of_others(words: int, r: int, rank_sums: Float64Array, total: float) -> float:
    """c_max, from the sums that :class:`OwnLists` has."""
    left = words * (words - 1 - r)
    rest = total - float(rank_sums[:r].sum())
    return max(rest, 0.0) / left if left > 0 else float("nan")


def in_range(largest: float) -> bool:
    """Whether vectors whose largest squared length is this can be computed with as they are."""
    return largest == 0.0 or 1e-24 < largest < 1e30


def scaled_points(matrix: Float32Array) -> tuple[Points, float]:
    """The vectors with their squared norms, and the power of two by which distances must be multiplied in the end.

    Vectors whose squares would leave the range of float32 are scaled; all others are taken as they are.
    """
    norms = np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64, optimize=False)
    largest = float(norms.max(initial=0.0))
    if in_range(largest):
        return Points(matrix, norms.astype(np.float32)), 1.0
    unit = 2.0 ** round(np.log2(largest) / 2)
    scaled = (matrix / unit).astype(np.float32)
    norms = np.einsum("ij,ij->i", scaled, scaled, dtype=np.float64, optimize=False)
    return Points(scaled, norms.astype(np.float32)), unit


def build_exact(
    matrix: Float32Array, r: int, *, memory: int, threads: int, progress: Progress, start: OwnLists | None = None
) -> OwnLists:
    """Own lists of all words. With ``start`` (the lists of the first words) only new pairs are looked at."""
    n = len(matrix)
    points, unit = scaled_points(matrix)
    candidates = Candidates(n, min(r, n - 1))
    old = 0 if start is None else len(start.own)
    if start is not None:
        _seed(candidates, start, unit)
    side = min(TILE, max(64, int((memory / 4 / threads) ** 0.5)), max(64, -(-n // 16)))
    tiles = _Tiles(points, candidates, old, side)
    total = run_jobs(tiles.pairs, tiles.work, threads, progress) * unit
    words = np.arange(n, dtype=np.int32) if start is None else _changed(candidates, start)
    lists = ranked_lists(points, candidates, words, threads, unit)
    if start is None:
        return OwnLists(lists.own, lists.distances, lists.rank_sums, total)
    return _merged(start, words, lists, n, total + start.total)


def ranked_lists(points: Points, candidates: Candidates, words: Int32Array, threads: int, unit: float) -> OwnLists:
    """The candidates of some words put in order; the total is left at 0."""
    own = np.empty((len(words), candidates.r), np.int32)
    distances = np.empty((len(words), candidates.r), np.float32)
    sums = np.zeros(candidates.r, np.float64)
    for first in range(0, len(words), _RANK_ROWS):
        rows = slice(first, first + _RANK_ROWS)
        ids, exact = native.rank_candidates(points.native, candidates, words[rows], threads)
        exact *= unit
        own[rows] = ids
        distances[rows] = exact
        sums += exact.sum(axis=0)
    return OwnLists(own, distances, sums, 0.0)


def _seed(candidates: Candidates, start: OwnLists, unit: float) -> None:
    """Enter known own lists as candidates, and their last distances as limits (a little above, for the rounding)."""
    squares = np.square(start.distances.astype(np.float64) / unit)
    candidates.seed(np.ascontiguousarray(start.own), squares)


def _changed(candidates: Candidates, start: OwnLists) -> Int32Array:
    """The words whose list is not what it was, and the new ones."""
    old, width = start.own.shape
    changed = np.ones(len(candidates.counts), bool)
    if width == candidates.r:
        candidates.unchanged(np.ascontiguousarray(start.own), same := np.empty(old, bool))
        changed[:old] = ~same
    return np.flatnonzero(changed).astype(np.int32)


def _merged(start: OwnLists, words: Int32Array, lists: OwnLists, n: int, total: float) -> OwnLists:
    """The old lists with those of ``words`` put in their places."""
    old, width = start.own.shape
    if width < lists.own.shape[1]:  # every list has changed: it is longer
        return OwnLists(lists.own, lists.distances, lists.rank_sums, total)
    own, distances = np.empty((n, width), np.int32), np.empty((n, width), np.float32)
    own[:old], distances[:old] = start.own, start.distances
    replaced = distances[words[words < old]].sum(axis=0, dtype=np.float64)
    own[words], distances[words] = lists.own, lists.distances
    return OwnLists(own, distances, start.rank_sums - replaced + lists.rank_sums, total)


class _Tiles:
    """The upper triangle of the matrix of all pairs, cut into tiles; ``old`` words among themselves are left out."""

    def __init__(self, points: Points, candidates: Candidates, old: int, side: int) -> None:
        n = len(points.norms)
        self.points, self.candidates, self.side = points, candidates, side
        self.ids = np.arange(n, dtype=np.int32)
        bounds = [*range(0, old, side), *range(old, n, side), n]
        self.stripes = [(bounds[k], bounds[k + 1]) for k in range(len(bounds) - 1)]
        fresh = sum(1 for low, _ in self.stripes if low < old)
        stripes = range(len(self.stripes))
        # A word's nearest in its own stripe come first: they are a limit that most of the other tiles stay above.
        self.pairs = [(b, b) for b in stripes if b >= fresh]
        self.pairs += [(a, b) for a in stripes for b in stripes if a < b and b >= fresh]
        self._local = threading.local()

    def work(self, pair: tuple[int, int]) -> float:
        """Multiply and select one tile; returns the sum of its distances, both directions counted."""
        (a, b), (c, d) = self.stripes[pair[0]], self.stripes[pair[1]]
        vectors = self.points.vectors
        buffer = getattr(self._local, "buffer", None)
        if buffer is None:
            buffer = self._local.buffer = np.empty(self.side * self.side, np.float32)
        products = buffer[: (b - a) * (d - c)].reshape(b - a, d - c)
        np.matmul(vectors[a:b], vectors[c:d].T, out=products)
        mirror = pair[0] != pair[1]
        rows, columns, points = self.ids[a:b], self.ids[c:d], self.points.native
        total = native.select_tile(products, rows, columns, mirror, False, points, self.candidates)
        return 2 * total if mirror else total

"""Each word's nearest words on the device, exact, with the sum of all distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wordferry.base.arrays import Float32Array, Float64Array, Int32Array, Int64Array
from wordferry.base.runtime import Progress
from wordferry.device.best import MOST, list_size
from wordferry.device.launch import runtime, within_memory

_SPARE = 16
"""Candidates beyond r: their approximate distances must rule out all other words."""
_WARPS = 4
_ROUGH = 2.0**-9
"""How far an inner product of rounded vectors may be off, relative to the product of the lengths."""
_FINE = 2.0**-18
_MANY = 20_000
"""From this many words on products are rough, whose errors then average out in the sum of all distances."""
_NONE = np.uint64(2**64 - 1)


@dataclass(frozen=True)
class Nearest:
    """The r nearest words of each word by (distance, number), and what c_max follows from."""

    own: Int32Array
    distances: Float32Array
    rank_sums: Float64Array
    total: float


@dataclass(frozen=True, eq=False)
class _NeighbourWords:
    """All vectors on the device: as they are, and as the products take them."""

    vectors: Any
    products_of: Any
    norms: Any
    error: float
    """Of a squared distance from a product."""
    rough: bool

    @classmethod
    def of(cls, matrix: Float32Array, rough: bool) -> _NeighbourWords:
        device = runtime()
        vectors = device.put(np.ascontiguousarray(matrix, dtype=np.float32))
        taken = device.rounded(vectors) if rough else vectors
        norms = (taken.astype(np.float64) ** 2).sum(axis=1)
        largest = float(norms.max()) if len(matrix) else 0.0
        return cls(vectors, taken, norms.astype(np.float32), (_ROUGH if rough else _FINE) * 2 * largest, rough)


def applies(count: int, r: int) -> bool:
    """Whether lists of r words can be reduced on the device; where every pair is related there is nothing to find."""
    return r < count - 1 and r + _SPARE <= MOST


def nearest_words(matrix: Float32Array, r: int, memory: int, progress: Progress) -> Nearest:
    """The r nearest words of every word.

    Of many words, products are rounded to the tensor cores' float32 first; words whose candidates these do not settle
    are compared again in full float32, and what is left (many words at one distance) by the host.
    """
    count = len(matrix)
    words = _NeighbourWords.of(matrix, rough=count >= _MANY)
    everything = np.arange(count, dtype=np.int32)
    own, squared, totals, settled = within_memory(lambda room: _search(words, everything, r, room, progress), memory)
    left = np.flatnonzero(~settled).astype(np.int32)
    if len(left):
        finer = _NeighbourWords.of(matrix, rough=False)
        found = within_memory(lambda room: _search(finer, left, r, room, None), memory)
        own[left], squared[left] = found[:2]
        left = left[~found[3]]
    for word in left.tolist():
        own[word], squared[word] = _by_host(matrix, word, r)
    distances = np.sqrt(squared)
    return Nearest(own.astype(np.int32), distances.astype(np.float32), distances.sum(axis=0), float(totals.sum()))


def _by_host(matrix: Float32Array, word: int, r: int) -> tuple[Int64Array, Float64Array]:
    squared = ((matrix.astype(np.float64) - matrix[word]) ** 2).sum(axis=1)
    squared[word] = np.inf
    order = np.lexsort((np.arange(len(matrix)), squared))[:r]
    return order, squared[order]


def _search(words: _NeighbourWords, some: Int32Array, r: int, room: int, progress: Progress | None) -> tuple[Any, ...]:
    """Own lists, exact squared distances and sums of distances of some words, and whether each list is settled."""
    device, count = runtime(), len(words.vectors)
    width = min(r + _SPARE, count - 1)
    columns = max(32, min(count, int((room // 8) ** 0.5) * 2 // 32 * 32))
    step = max(_WARPS, min(len(some), int(room // (8 * columns))))
    own, squared = np.empty((len(some), r), np.int64), np.empty((len(some), r), np.float64)
    totals, settled = np.empty(len(some)), np.empty(len(some), dtype=bool)
    products = device.xp.empty((step, columns), dtype=np.float32)
    for low in range(0, len(some), step):
        rows = slice(low, min(low + step, len(some)))
        chosen = device.put(some[rows])
        keys = device.xp.full((rows.stop - low, width), _NONE, dtype=np.uint64)
        sums = device.xp.zeros(rows.stop - low, dtype=np.float64)
        for first in range(0, count, columns):
            _offer(words, chosen, slice(first, min(first + columns, count)), products, (keys, sums))
        own[rows], squared[rows], settled[rows] = _ranked(words, chosen, keys, r)
        totals[rows] = device.get(sums)
        if progress is not None:
            progress(rows.stop, len(some))
    return own, squared, totals, settled


def _offer(words: _NeighbourWords, chosen: Any, others: slice, products: Any, lists: tuple[Any, Any]) -> None:
    """Look at the products of the chosen words with some others."""
    device, rows, width = runtime(), len(chosen), lists[0].shape[1]
    size = list_size(width)
    a, b = words.products_of[chosen], words.products_of[others]
    if words.rough:
        device.products(a, b, products)
    else:
        products[:rows, : len(b)] = a @ b.T
    device.launch(
        "nearest_words", -(-rows // _WARPS), 32 * _WARPS, 8 * _WARPS * size, products, int(products.shape[1]),
        words.norms, words.norms[chosen], chosen, rows, others.stop - others.start, others.start, width, size, *lists,
    )  # fmt: skip


def _ranked(words: _NeighbourWords, chosen: Any, keys: Any, r: int) -> tuple[Any, Any, Any]:
    """Candidates put in order by exact distances; settled where no word outside the candidates can be nearer."""
    device, width = runtime(), keys.shape[1]
    xp = device.xp
    outside = (keys[:, -1] >> np.uint64(32)).astype(np.uint32).view(np.float32).astype(np.float64) - words.error
    ids = xp.sort((keys & np.uint64(2**32 - 1)).astype(np.int64), axis=1)
    squared = xp.full(ids.shape, np.inf, dtype=np.float64)
    device.launch(
        "exact_words", -(-len(chosen) // _WARPS), 32 * _WARPS, 0, words.vectors, int(words.vectors.shape[1]), chosen,
        len(chosen), ids, width, squared,
    )  # fmt: skip
    order = xp.argsort(squared, axis=1, kind="stable")[:, :r]
    ids, squared = xp.take_along_axis(ids, order, axis=1), xp.take_along_axis(squared, order, axis=1)
    settled = xp.ones(len(chosen), dtype=bool) if width == len(words.vectors) - 1 else squared[:, -1] < outside
    return device.get(ids), device.get(squared), device.get(settled)

"""The typed door to the C++ kernels of the relaxed family: arrays only, no decisions (see ``native/panel.hpp``)."""

from __future__ import annotations

import numpy as np

from wordferry import _native
from wordferry.base.arrays import BoolArray, Csr, Float32Array, Int32Array, Neighbors
from wordferry.base.runtime import Progress

FAR_AWAY = np.float32(1e30)
"""A larger cost than any, for a word that must not move to itself; finite, so that 0 times it is 0."""

View = _native.Csr
transposed_max = _native.transposed_max
"""``transposed_max(out, other, threads)``: ``out = maximum(out, other.T)``, in place."""
word_distances = _native.word_distances
"""``word_distances(a, a_squares, b, b_squares, out, threads)``: ``out[i, j]`` is the distance of the vectors ``a[i]``
and ``b[j]``; its bits depend on these two alone."""
document_minima = _native.document_minima
"""``document_minima(documents, costs, nearest, column, threads)``: ``nearest[panel, column + c, lane]`` is the least
``costs[w, c]`` of the words w of the document."""
refine_cosine = _native.refine_cosine
"""``refine_cosine(x, y, limit, out, threads)``: distances below ``limit`` again, without cancellation; rows have length
1."""


def view(matrix: Csr) -> View:
    """A checked view of a Csr, as kernels take it; indices out of range are refused here."""
    data = np.ascontiguousarray(matrix.data, dtype=np.float32)
    return View(np.ascontiguousarray(matrix.indptr), np.ascontiguousarray(matrix.indices), data, matrix.shape[1])


def aligned_views(x: View, y: View, words: int) -> tuple[View, View]:
    """Two views over the same number of words; neither is checked again."""
    return x.widened(words), y.widened(words)


def empty_graph(words: int) -> View:
    """A graph in which no two words are related."""
    nothing = np.zeros(0, dtype=np.int32)
    return View(np.zeros(words + 1, dtype=np.int64), nothing, nothing.astype(np.float32), words)


def aligned(*shape: int) -> Float32Array:
    """An uninitialised float32 array whose first element lies at a multiple of 64 bytes."""
    size = int(np.prod(shape)) * 4
    memory = np.empty(size + 64, dtype=np.uint8)
    start = -memory.ctypes.data % 64
    result: Float32Array = memory[start : start + size].view(np.float32).reshape(shape)
    return result


def panel_sums(
    panel: View,
    moving: View,
    graph: View,
    rest: float,
    kind: str,
    out: Float32Array,
    *,
    transposed: bool = False,
    combine: bool = False,
    lower: bool = False,
    threads: int = 1,
    progress: Progress | None = None,
) -> None:
    """Sums over the words of each document of ``moving`` against sixteen documents of ``panel`` at a time.

    ``out[moving, panel]``, or the other way round when ``transposed``; with ``combine`` the larger of the sum and
    what stands there. ``lower`` leaves out what lies above the diagonal.
    """
    _native.panel_sums(
        panel, moving, graph, rest, _native.PanelKind[kind], out, transposed, combine, lower, threads, progress
    )


def make_symmetric(values: Float32Array, threads: int, *, from_lower: bool = False) -> None:
    """``values[i, j] = values[j, i] =`` the larger of the two, or the lower one."""
    _native.make_symmetric(values, from_lower, threads)


def squares(vectors: Float32Array) -> Float32Array:
    """Squared lengths of vectors."""
    out = np.empty(len(vectors), dtype=np.float32)
    _native.squared_lengths(vectors, out)
    return out


def accumulate(
    moving: View,
    target: View,
    nearest: Float32Array,
    first_word: int,
    out: Float32Array,
    *,
    omr: bool,
    add: bool,
    threads: int,
) -> None:
    """Add (or start) the sums of one block of words, from ``first_word`` on, to ``out[moving, target]``.

    Both sides' words must rise in every document.
    """
    _native.accumulate(moving, target, nearest, first_word, omr, add, out, threads)


def related_pairs(
    x: View,
    y: View,
    graph: View,
    c_max: float,
    overlap: str,
    side: str,
    out: Float32Array,
    *,
    scan: bool = False,
    threads: int = 1,
    progress: Progress | None = None,
) -> None:
    """Rel-RWMD pair by pair through the lists of related words; ``scan`` serves a few x with one pass over y each."""
    _native.related_pairs(
        x, y, graph, c_max, _native.Overlap[overlap], _native.Side[side], scan, out, threads, progress
    )


def dense_pairs(
    x: View,
    y: View,
    costs: Float32Array,
    own: Int32Array,
    known: tuple[int, int],
    far: float,
    overlap: str,
    side: str,
    out: Float32Array,
    threads: int,
) -> None:
    """RWMD of one document to many: ``costs[w, i]`` of word w of y's numbering and the i-th word of x.

    Only the first ``known`` words of x, and of y's numbering, have costs; all others are ``far`` from every other word.
    """
    kind, way = _native.Overlap[overlap], _native.Side[side]
    _native.dense_pairs(x, y, costs, own, *known, far, kind, way, out, threads)


class Heaps:
    """The k nearest of each row while blocks of values come in."""

    def __init__(self, rows: int, k: int) -> None:
        self._shape = rows, k
        self._native = _native.Nearest(rows, k)

    def offer(self, rows: slice, values: Float32Array, first: int, allowed: BoolArray | None, threads: int) -> None:
        """Offer ``values[i, c]`` to row ``rows.start + i`` as candidate ``first + c`` where ``allowed``."""
        mask = None if allowed is None else np.ascontiguousarray(allowed).view(np.uint8)
        self._native.offer(rows.start, values, first, mask, threads)

    def finish(self, threads: int) -> Neighbors:
        """Sort by (distance, index); places without a candidate become (inf, -1). Nothing can be offered then."""
        distances, indices = np.empty(self._shape, np.float32), np.empty(self._shape, np.int64)
        self._native.finish(distances, indices, threads)
        return Neighbors(indices, distances)

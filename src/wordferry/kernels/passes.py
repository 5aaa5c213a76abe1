"""The typed door to the C++ kernels that compare documents in memory, relaxed or by transport: arrays, no decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from wordferry import _native
from wordferry.base.arrays import Csr, Float32Array, Float64Array, Int32Array, Int64Array

FAR_AWAY = np.float32(1e30)
"""A larger cost than any, for a word that must not move to itself; finite, so that 0 times it is 0."""

View = _native.Csr
WholeView = _native.WholeCsr
Kind = _native.TransportKind
"""What a pair of documents is compared by, given distances of words: wmd, act_omr or act_residual."""
Rule = _native.TransportRule
"""A kind with its parameters: act's transfers; whether common mass moves, and what Sinkhorn's rounds need, of wmd."""
Proof = _native.Proof
"""What is known of a solution: failed (a cost or the optimum is not finite), bounded or exact."""
TransportDocuments = _native.TransportDocuments
"""Two sets of documents with whole weights, and one kind of costs between their words: nothing changes later.

``TransportDocuments(x, y, costs, row_of, column_of, rule, shared)``: a word of x costs ``costs[row_of[word of x],
column_of[word of y]]`` onto a word of y; with ``shared``, the last row and the last column stand for several words
each, that cost the same onto all other words. ``TransportDocuments(x, y, graph, c_max, keep)``: costs of related words,
c_max for all others; ``keep`` moves common mass like any other.

``all_pairs(symmetric, offset, out, threads)`` writes all values and returns the pair without an optimum, or (-1, -1);
with ``symmetric``, x is y from row ``offset`` on, and the lower triangle is left alone.

``search(bounds, allowed, slack, k, budget, threads)`` gives the k nearest of each query, given lower bounds that may be
up to ``slack`` too high: rows, values, what is proved, counts (solved, stopped by the dual bound, looked at, left for
lack of budget) of each query, and the pair without an optimum or (-1, -1). A budget of -1 is none.
"""
transposed_max = _native.transposed_max
"""``transposed_max(out, other, threads)``: ``out = maximum(out, other.T)``, in place."""
squares = _native.squared_lengths
"""Squared lengths of vectors."""
Nearest = _native.Nearest
"""The k nearest of each row while blocks of values come in: ``Nearest(rows, k)``; ``offer(first_row, values, first,
allowed, threads)`` offers ``values[i, c]`` to row ``first_row + i`` as candidate ``first + c`` where ``allowed``;
``finish(threads)`` gives indices and distances by (distance, index), -1 and inf where there are fewer, and ends it."""
Overlap, Side, PanelKind = _native.Overlap, _native.Side, _native.PanelKind
dense_pairs = _native.dense_pairs
"""``dense_pairs(x, y, costs, own, x_known, y_known, far, overlap, side, out, threads)``: RWMD of one document to many,
from ``costs[w, i]`` of word w of y's numbering and the i-th word of x. Only the first ``x_known`` words of x, and
``y_known`` of y's numbering, have costs; all others are ``far`` from every other word."""
word_distances = _native.word_distances
"""``word_distances(a, a_squares, b, b_squares, out, threads)``: ``out[i, j]`` is the distance of the vectors ``a[i]``
and ``b[j]``; its bits depend on these two alone."""
panel_sums = _native.panel_sums
"""``panel_sums(panel, moving, graph, rest, kind, out, transposed=False, combine=False, lower=False, threads=1,
progress=None)``: sums over the words of each document of ``moving`` against sixteen documents of ``panel`` at a time.

``out[moving, panel]``, or the other way round when ``transposed``; with ``combine`` the larger of the sum and what
stands there. ``lower`` leaves out what lies above the diagonal."""
make_symmetric = _native.make_symmetric
"""``make_symmetric(values, threads, from_lower=False)``: ``values[i, j] = values[j, i] =`` the larger of the two, or
the lower one."""
accumulate = _native.accumulate
"""``accumulate(moving, target, nearest, first_word, omr, add, out, threads)``: add (or start) the sums of one block of
words, from ``first_word`` on, to ``out[moving, target]``. Both sides' words must rise in every document."""
related_pairs = _native.related_pairs
"""``related_pairs(x, y, graph, c_max, overlap, side, out, threads, progress)``: Rel-RWMD pair by pair: a table of the
words each x has or is related to, and one pass over y."""
document_minima = _native.document_minima
"""``document_minima(documents, costs, nearest, column, threads)``: ``nearest[panel, column + c, lane]`` is the least
``costs[w, c]`` of the words w of the document."""
lower_minima = _native.lower_minima
"""``lower_minima(documents, first_word, costs, nearest, threads)``: lower ``nearest[panel, w, lane]`` to the least
``costs[w, c]`` of the words ``first_word + c`` of the document, which must rise in each."""
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
    return memory[start : start + size].view(np.float32).reshape(shape)


def whole_view(matrix: Csr) -> WholeView:
    """A checked view of documents with whole weights (int64), words rising in each; it is never checked again."""
    indptr, indices = np.ascontiguousarray(matrix.indptr), np.ascontiguousarray(matrix.indices)
    return WholeView(indptr, indices, np.ascontiguousarray(matrix.data), matrix.shape[1])


class Solution(NamedTuple):
    """What the solver says of one problem."""

    proof: Proof
    total: float
    pivots: int
    sources: Int32Array
    sinks: Int32Array
    masses: Int64Array
    source_duals: Float64Array
    sink_duals: Float64Array


def transport_one(supply: Int64Array, demand: Int64Array, costs: Float64Array) -> Solution:
    """Solve one problem of positive whole masses of equal sums."""
    return Solution(*_native.transport_one(supply, demand, costs))


transport_many = _native.transport_many
"""``transport_many(supply, demand, costs, threads)``: solve problems of one shape (k x m, k x n, k x m x n); total
costs, pivots and proofs."""


def transport_pair(vectors: Float32Array, first: Mapping[int, int], second: Mapping[int, int]) -> float:
    """wmd of two documents from how often each of their words (rows of ``vectors``) comes.

    NaN where a distance of words is not finite.
    """
    x, y = ((np.fromiter(one, np.int64), np.fromiter(one.values(), np.int64)) for one in (first, second))
    return _native.transport_pair(vectors, *x, *y)


class Ways(NamedTuple):
    """Ways that the mass of rows can take: those of a row are from ``starts[row]`` on, with an entry at each end."""

    starts: Int64Array
    ones: Int64Array
    others: Int64Array
    affinity: Float64Array


def share_out(
    ways: Ways, masses: Float64Array, left: tuple[Float64Array, Float64Array]
) -> tuple[Int64Array, Float64Array]:
    """Share out the mass of rows over their ways, those of most affinity first.

    The entries at the ends of a way give it no more than they have ``left``, and have less then; the last way of a row
    takes what is left of the row. Returns the ways that took something, and how much.
    """
    return _native.share_out(*ways, masses, *left)


class SoftPlan(NamedTuple):
    """A plan of Sinkhorn's rounds, with exactly the masses asked for."""

    plan: Float64Array
    cost: float
    lower_bound: float
    """On the cost of the cheapest plan, from the potentials."""
    error: float
    """Mass that scaling missed when it stopped; it was spread in proportion."""
    rounds: int


def soft_plan(supply: Float64Array, demand: Float64Array, costs: Float32Array, rule: Rule) -> SoftPlan:
    """The soft plan between masses that sum to 1."""
    return SoftPlan(*_native.soft_plan(supply, demand, costs, rule))


def distances_of(query: Float32Array, vectors: Float32Array, threads: int) -> Float32Array:
    """Euclidean distances of query vectors to all vectors; a value depends on its two vectors alone."""
    out = np.empty((len(query), len(vectors)), np.float32)
    query, vectors = np.ascontiguousarray(query), np.ascontiguousarray(vectors)
    word_distances(query, squares(query), vectors, squares(vectors), out, threads)
    return out

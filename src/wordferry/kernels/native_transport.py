"""The typed door to the transport kernels: arrays only, no decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wordferry import _native
from wordferry.base.arrays import BoolArray, Csr, Float32Array, Float64Array, Int32Array, Int64Array
from wordferry.kernels import passes

View = _native.Csr
Kind = _native.TransportKind
"""What a pair of documents is compared by, given distances of words: wmd, act_omr or act_residual."""
Rule = _native.TransportRule
"""A kind with its parameters: act's transfers; whether common mass moves, and what Sinkhorn's rounds need, of wmd."""
Proof = _native.Proof
"""What is known of a solution: failed (a cost or the optimum is not finite), bounded or exact."""
WholeView = _native.WholeCsr


def whole_view(matrix: Csr) -> WholeView:
    """A checked view of documents with whole weights (int64), words rising in each; it is never checked again."""
    indptr, indices = np.ascontiguousarray(matrix.indptr), np.ascontiguousarray(matrix.indices)
    return WholeView(indptr, indices, np.ascontiguousarray(matrix.data), matrix.shape[1])


@dataclass(frozen=True)
class Solution:
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
    m, n = costs.shape
    room = m + n
    sources, sinks = np.empty(room, np.int32), np.empty(room, np.int32)
    masses = np.empty(room, np.int64)
    source_duals, sink_duals = np.empty(m), np.empty(n)
    proof, total, pivots, arcs = _native.transport_one(
        supply, demand, costs, source_duals, sink_duals, sources, sinks, masses
    )
    return Solution(proof, total, pivots, sources[:arcs], sinks[:arcs], masses[:arcs], source_duals, sink_duals)


def transport_many(
    supply: Int64Array, demand: Int64Array, costs: Float64Array, threads: int
) -> tuple[Float64Array, Int64Array, Int32Array]:
    """Solve problems of one shape (k x m, k x n, k x m x n); total costs, pivots and proofs."""
    count = len(supply)
    total, pivots, proof = np.empty(count), np.empty(count, np.int64), np.empty(count, np.int32)
    _native.transport_many(supply, demand, costs, total, pivots, proof, threads)
    return total, pivots, proof


def transport_pair(vectors: Float32Array, first: Mapping[int, int], second: Mapping[int, int]) -> float:
    """wmd of two documents from how often each of their words (rows of ``vectors``) comes.

    NaN where a distance of words is not finite.
    """
    x_words, x_counts = _listed(first)
    y_words, y_counts = _listed(second)
    return _native.transport_pair(vectors, x_words, x_counts, y_words, y_counts)


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
    kept, taken = np.empty(len(ways.ones), np.int64), np.empty(len(ways.ones))
    count = _native.share_out(*ways, masses, *left, kept, taken)
    return kept[:count], taken[:count]


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
    plan = np.empty(costs.shape)
    return SoftPlan(plan, *_native.soft_plan(supply, demand, costs, rule, plan))


def _listed(counts: Mapping[int, int]) -> tuple[Int64Array, Int64Array]:
    size = len(counts)
    return np.fromiter(counts, np.int64, size), np.fromiter(counts.values(), np.int64, size)


def word_distances(query: Float32Array, vectors: Float32Array, threads: int) -> Float32Array:
    """Euclidean distances of query vectors to all vectors; a value depends on its two vectors alone."""
    out = np.empty((len(query), len(vectors)), np.float32)
    query, vectors = np.ascontiguousarray(query), np.ascontiguousarray(vectors)
    passes.word_distances(query, passes.squares(query), vectors, passes.squares(vectors), out, threads)
    return out


class WordCosts(NamedTuple):
    """Costs of a word of x to a word of y at ``costs[row_of[word of x], column_of[word of y]]``.

    With ``shared``, the last row and the last column stand for several words each, that cost the same onto all other
    words.
    """

    costs: Float32Array
    row_of: Int32Array
    column_of: Int32Array
    shared: bool = False


@dataclass(frozen=True)
class Documents:
    """Two sets of documents with whole weights, and one kind of costs between their words: nothing changes later."""

    _native: _native.TransportDocuments
    shape: tuple[int, int]

    @classmethod
    def by_distances(cls, x: WholeView, y: WholeView, costs: WordCosts, rule: Rule) -> Documents:
        """Documents between whose words all costs are given."""
        places = costs.costs, costs.row_of, costs.column_of
        made = _native.TransportDocuments(x, y, *places, rule, costs.shared)
        return cls(made, (x.shape[0], y.shape[0]))

    @classmethod
    def by_related(cls, x: WholeView, y: WholeView, graph: View, c_max: float, *, keep: bool) -> Documents:
        """Costs of related words, c_max for all others; ``keep`` moves common mass like any other."""
        return cls(_native.TransportDocuments(x, y, graph, c_max, keep), (x.shape[0], y.shape[0]))

    def all_pairs(self, out: Float32Array, threads: int, *, mirror_from: int | None = None) -> tuple[int, int]:
        """All values; with ``mirror_from`` x is y from that row on, and the lower triangle is left alone.

        Returns the pair without an optimum, or (-1, -1).
        """
        offset = 0 if mirror_from is None else mirror_from
        where: tuple[int, int] = self._native.all_pairs(mirror_from is not None, offset, out, threads)
        return where

    def search(
        self, bounds: Float32Array, allowed: BoolArray, slack: float, k: int, budget: int, threads: int
    ) -> tuple[Int64Array, Float32Array, BoolArray, Int64Array, tuple[int, int]]:
        """The k nearest of each query, given lower bounds that may be up to ``slack`` too high.

        Returns rows, values, what is proved, counts (solved, stopped by the dual bound, looked at, left for lack of
        budget) of each query, and the pair without an optimum or (-1, -1).
        """
        queries = self.shape[0]
        found, values = np.empty((queries, k), np.int64), np.empty((queries, k), np.float32)
        proved, counts = np.empty((queries, k), np.uint8), np.zeros((queries, 4), np.int64)
        where: tuple[int, int] = self._native.search(
            bounds, allowed.view(np.uint8), slack, k, budget, found, values, proved, counts, threads
        )
        return found, values, proved.astype(bool), counts, where

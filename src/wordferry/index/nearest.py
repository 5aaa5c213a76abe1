"""Rel-RWMD over inverted lists: exact nearest documents without looking at most of them.

Moving a document onto the query costs c_max for every word that the query neither has nor is related to, so that side
of the distance is c_max less what the lists of the touched words save. It bounds the distance from below. Documents
are compared in full in rising order of the bound, until the bound passes the k-th distance found: the answer is that
of comparing with every document, bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from wordferry.base.arrays import BoolArray, Csr, Float32Array, Int32Array, Int64Array, Neighbors
from wordferry.base.cancel import check_cancelled
from wordferry.errors import FormatError
from wordferry.index.segments import with_remedy
from wordferry.index.snapshot import Part, Snapshot
from wordferry.kernels import passes
from wordferry.kernels import related_lists as lists
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

_FEW = 1024
"""With no more documents than this to choose from, all of them are compared."""
_KEPT_REACHES = 64
_STEP = 512
"""Documents that are compared at once at first; then twice as many each time."""
_ROUNDING = 1.2e-7
"""How far a sum in float32 may be off for each of its terms, relative to the largest: two units in the last place."""


@dataclass(frozen=True)
class Query:
    """One query against the words of an index: its words, those outside the index last, and what they relate to."""

    index: Words
    ids: Int64Array
    masses: Float32Array
    edges: tuple[Int64Array, Int64Array, Float32Array]
    """(position in the query, word of the index, cost)."""
    overlap: str

    @property
    def c_max(self) -> float:
        return self.index.c_max

    @cached_property
    def listed(self) -> lists.ListQuery:
        """As the lists take it; not for residual."""
        near, far, costs = self.edges
        edges = near.astype(np.int32), far.astype(np.int32), costs
        size = len(self.index.place)
        return lists.ListQuery(self.ids.astype(np.int32), self.masses, edges, self.c_max, self.overlap, size)

    @cached_property
    def touched(self) -> lists.Touched:
        """The words that the query has or is related to."""
        _, far, costs = self.edges
        words = np.unique(np.concatenate([self.ids, far]))
        c_max = np.float32(self.c_max)
        near = np.full(len(words), c_max, dtype=np.float32)
        np.minimum.at(near, np.searchsorted(words, far), costs)
        common = np.zeros(len(words), dtype=np.float32)
        own = np.searchsorted(words, self.ids)
        if self.overlap == "keep":
            near[own] = 0
        else:
            common[own] = self.masses
        return lists.Touched(words.astype(np.int32), near, c_max - near, common)

    @cached_property
    def place(self) -> Int32Array:
        """The number of each word of the vocabulary among those in play, or -1."""
        inside = self.index.place
        outside = self.ids[inside[self.ids] < 0]
        place = inside.copy()
        place[outside] = np.arange(self.index.size, self.index.size + len(outside), dtype=np.int32)
        return place

    @cached_property
    def views(self) -> tuple[passes.View, passes.View, int]:
        """The query and the graph as far as it needs it, and how many words are in play."""
        near, far, costs = self.edges
        rows = self.place[self.ids]
        size = self.index.size + int(np.count_nonzero(rows >= self.index.size))
        x = Csr(np.array([0, len(rows)]), rows.astype(np.int32), self.masses, (1, size))
        return passes.view(x), passes.view(_links(rows[near], self.place[far], costs, size)), size


class Words:
    """The words of an index and the costs between them, ready for queries."""

    def __init__(self, embeddings: Embeddings, related: RelatedWords, words: Int64Array) -> None:
        self._embeddings = embeddings
        self._related = related
        self._words = words
        self._known: Embeddings | None = None
        self._reaches: dict[tuple[Any, ...], Float32Array] = {}
        self.size = len(words)
        self.place = np.full(len(embeddings), -1, dtype=np.int32)
        self.place[np.sort(words)] = np.arange(len(words), dtype=np.int32)
        self._row = np.full(len(embeddings), -1, dtype=np.int64)
        self._row[words] = np.arange(len(words))

    def query(self, ids: Int64Array, masses: Float32Array, overlap: str) -> Query:
        """A query of these words, which rise; words outside the index come after all others."""
        outside = self._row[ids] < 0
        if outside.any():
            order = np.argsort(outside, kind="stable")
            ids, masses = ids[order], masses[order]
        return Query(self, ids, masses, self._edges(ids), overlap)

    def _edges(self, ids: Int64Array, *, clamp: bool = True) -> tuple[Int64Array, Int64Array, Float32Array]:
        """What the query's words are related to: (position in the query, word of the index, cost)."""
        rows, graph = self._row[ids], self._related.graph
        outside = np.flatnonzero(rows < 0)
        inside = np.flatnonzero(rows >= 0) if len(outside) else np.arange(len(rows))
        own = rows[inside] if len(outside) else rows
        starts = graph.indptr[own]
        sizes = graph.indptr[own + 1] - starts
        ends = np.cumsum(sizes, dtype=np.int64)
        places = np.repeat(starts - ends + sizes, sizes)
        places += np.arange(len(places))
        near, far, costs = np.repeat(inside, sizes), self._words[graph.indices[places]], graph.data[places]
        if len(outside):
            if self._known is None:
                self._known = self._embeddings.restrict(self._words)
            joined = sp.csr_array(self._related.rows_for(self._embeddings.matrix[ids[outside]], self._known))
            near = np.concatenate([near, np.repeat(outside, np.diff(joined.indptr))])
            far = np.concatenate([far, self._words[joined.indices]])
            costs = np.concatenate([costs, joined.data])
        found = costs.astype(np.float32, copy=False)
        return near, far, np.minimum(found, np.float32(self._related.c_max)) if clamp else found

    def edges(self, ids: Int64Array) -> tuple[Int64Array, Int64Array, Float32Array]:
        """What some words are related to: (position among them, word of the index, cost), no cost above c_max."""
        return self._edges(ids)

    @property
    def c_max(self) -> float:
        return self._related.c_max

    @cached_property
    def longest_vector(self) -> float:
        """The length of the longest vector of the index's words."""
        return float(np.linalg.norm(self._embeddings.matrix[self._words], axis=1).max(initial=0))

    @cached_property
    def _reach(self) -> Float32Array:
        """The distance of each word to its own r-th neighbour: unrelated words are no nearer."""
        reach = np.zeros(len(self._embeddings), dtype=np.float32)
        reach[self._words] = self._related.own_distances[:, -1]
        return reach

    def reach_of(self, part: Part) -> Float32Array:
        """The mean reach of the words of each document of a part: what it costs to move it to unrelated words."""
        found = self._reaches.get(part.key)
        if found is None:
            found = self._reaches[part.key] = _mean_reach(part, self._reach)
            while len(self._reaches) > _KEPT_REACHES:
                self._reaches.pop(next(iter(self._reaches)))
        return found

    def true_costs(self, ids: Int64Array, masses: Float32Array, overlap: str) -> lists.Touched:
        """The touched words with what they cost at least by true distances, against their reach."""
        _, far, costs = self._edges(ids, clamp=False)
        words = np.unique(np.concatenate([ids[self._row[ids] >= 0], far]))
        reach = self._reach[words]
        near = reach.copy()
        np.minimum.at(near, np.searchsorted(words, far), costs)
        common = np.zeros(len(words), dtype=np.float32)
        inside = self._row[ids] >= 0
        own = np.searchsorted(words, ids[inside])
        if overlap == "keep":
            near[own] = 0
        else:
            common[own] = masses[inside]
        return lists.Touched(words.astype(np.int32), near, reach - near, common)


def _mean_reach(part: Part, reach: Float32Array) -> Float32Array:
    """Worked through a block of rows at a time."""
    bags, out = part.bags, np.zeros(len(part.bags), dtype=np.float32)
    try:
        for start in range(0, len(bags), lists.BLOCK):
            ends = bags.indptr[start : start + lists.BLOCK + 1]
            span = slice(int(ends[0]), int(ends[-1]))
            sums = np.concatenate([[0.0], np.cumsum(bags.counts[span] * reach[bags.words[span]], dtype=np.float64)])
            out[start : start + lists.BLOCK] = np.diff(sums[ends - ends[0]])
    except (IndexError, ValueError) as error:
        raise damaged_part(part, error) from None
    return np.divide(out, part.rows.totals, out=np.zeros_like(out), where=part.rows.totals > 0)


def _links(rows: Int32Array, columns: Int32Array, costs: Float32Array, size: int) -> Csr:
    """The graph as far as a query needs it: from its own words, and back, as documents are walked."""
    rows, columns = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    costs = np.concatenate([costs, costs])
    _, first = np.unique(rows.astype(np.int64) * size + columns, return_index=True)
    rows, columns, costs = rows[first], columns[first], costs[first]
    graph = sp.csr_array((costs, (rows, columns)), shape=(size, size), dtype=np.float32)
    graph.sort_indices()
    return Csr(graph.indptr.astype(np.int64), graph.indices.astype(np.int32), graph.data, (size, size))


@dataclass
class _Found:
    """The documents that were compared in full so far."""

    k: int
    rows: list[Int64Array] = field(default_factory=list)
    values: list[Float32Array] = field(default_factory=list)

    def put(self, rows: Int64Array, values: Float32Array) -> None:
        """Note some, and forget what can no longer be among the k nearest."""
        rows, values = np.concatenate([*self.rows, rows]), np.concatenate([*self.values, values])
        best = np.lexsort((rows, values))[: self.k]
        self.rows, self.values = [rows[best]], [values[best]]

    @property
    def worst(self) -> float:
        """The k-th distance, or infinity while there are fewer."""
        values = self.values[0] if self.values else np.zeros(0, np.float32)
        return float(values[-1]) if len(values) == self.k else np.inf


def nearest(snapshot: Snapshot, query: Query, k: int, mask: BoolArray | None, threads: int) -> Neighbors:
    """The k nearest rows of the snapshot that the mask allows, by (distance, row)."""
    allowed = snapshot.count(mask)
    if allowed > max(_FEW, k) and query.overlap != "residual":
        return _search_lists(snapshot, query, k, mask, threads)
    found = _Found(min(k, allowed))
    counts = {"pairs": allowed, "postings": 0, "evaluated": 0}
    if allowed <= max(_FEW, k):
        rows = np.arange(len(snapshot.numbers)) if mask is None else np.flatnonzero(mask)
        found.put(rows, distances(snapshot.parts, query, rows, threads))
        counts["evaluated"] = len(rows)
    else:
        _search(snapshot, query, mask, threads, found, counts)
    return ranked(lists.Found(found.rows[0], found.values[0], 0, 0), k, counts)


def nearest_panel(
    snapshot: Snapshot, queries: Sequence[Query], k: int, mask: BoolArray | None, threads: int
) -> Neighbors:
    """The k nearest rows to each of several queries; where it pays, documents are walked once for all of them."""
    allowed = snapshot.count(mask)
    if len(queries) == 1 or allowed <= max(_FEW, k) or any(query.overlap == "residual" for query in queries):
        return stacked([nearest(snapshot, query, k, mask, threads) for query in queries])
    stored = [part.rows.stored for part in snapshot.parts]
    listed = [query.listed for query in queries]
    try:
        rows, values, visited, evaluated = lists.nearest_many(
            listed, stored, mask, _slack(snapshot, queries[0]), k, threads
        )
    except ValueError as error:
        raise damaged_among(snapshot.parts, error) from None
    counts = {"pairs": allowed * len(queries), "postings": visited, "evaluated": evaluated}
    return Neighbors(rows, values, counts=counts)


def ranked(found: lists.Found, k: int, counts: dict[str, int]) -> Neighbors:
    """Rows and their distances by (distance, row), places without a row at the end."""
    best = np.lexsort((found.rows, found.distances))[:k]
    return _filled_up(found.rows[best], found.distances[best], k, counts)


def _filled_up(rows: Int64Array, distances: Float32Array, k: int, counts: dict[str, int]) -> Neighbors:
    """The answer to one query, places without a row at the end."""
    indices = np.full((1, k), -1, dtype=np.int64)
    values = np.full((1, k), np.inf, dtype=np.float32)
    indices[0, : len(rows)], values[0, : len(rows)] = rows, distances
    return Neighbors(indices, values, counts=counts)


def nearest_to_nothing(snapshot: Snapshot, k: int, mask: BoolArray | None) -> Neighbors:
    """The answer to a query without words: documents without words are equal to it, all others infinitely far."""
    rows = np.arange(len(snapshot.numbers)) if mask is None else np.flatnonzero(mask)
    totals = np.concatenate([np.zeros(0, np.float32), *(part.rows.totals for part in snapshot.parts)])
    values = np.where(totals[rows] == 0, 0, np.inf).astype(np.float32)
    best = np.argsort(values, kind="stable")[:k]
    return _filled_up(rows[best], values[best], k, {"pairs": len(rows)})


def stacked(found: Sequence[Neighbors]) -> Neighbors:
    """The answers to several queries, one under the other."""
    counts: dict[str, int] = {}
    for near in found:
        for name, value in near.counts.items():
            counts[name] = counts.get(name, 0) + value
    return Neighbors(
        np.concatenate([near.indices for near in found]), np.concatenate([near.distances for near in found]), 0, counts
    )


def _slack(snapshot: Snapshot, query: Query) -> float:
    """How far sums in float32 may be off."""
    return query.c_max * _ROUNDING * (max(part.rows.longest for part in snapshot.parts) + 32)


def _search_lists(snapshot: Snapshot, query: Query, k: int, mask: BoolArray | None, threads: int) -> Neighbors:
    """The kernel does it all; nothing is held for every document."""
    stored, allowed = [part.rows.stored for part in snapshot.parts], snapshot.count(mask)
    try:
        near = query.listed.nearest(stored, mask, _slack(snapshot, query), min(k, allowed), threads)
    except ValueError as error:
        raise damaged_among(snapshot.parts, error) from None
    counts = {"pairs": allowed, "postings": near.visited, "evaluated": near.evaluated}
    return _filled_up(near.rows, near.distances, k, counts)


def _search(
    snapshot: Snapshot, query: Query, mask: BoolArray | None, threads: int, found: _Found, counts: dict[str, int]
) -> None:
    bounds, counts["postings"] = _bounds(snapshot.parts, query, threads)
    heap = passes.Heaps(1, found.k)
    heap.offer(slice(0, 1), bounds[None, :], 0, mask, threads)
    first = np.sort(heap.finish(threads).indices[0])
    found.put(first, distances(snapshot.parts, query, first, threads))
    counts["evaluated"] += len(first)
    slack = _slack(snapshot, query)
    near = bounds <= found.worst + slack
    near[first] = False
    if mask is not None:
        near &= mask
    waiting = np.flatnonzero(near)
    waiting = waiting[np.argsort(bounds[waiting], kind="stable")]
    start, step = 0, _STEP
    while start < len(waiting):
        check_cancelled()
        last = start + int(np.searchsorted(bounds[waiting[start : start + step]], found.worst + slack, side="right"))
        if last == start:
            return
        some = np.sort(waiting[start:last])
        found.put(some, distances(snapshot.parts, query, some, threads))
        counts["evaluated"] += len(some)
        start, step = last, 2 * step


def _bounds(parts: Sequence[Part], query: Query, threads: int) -> tuple[Float32Array, int]:
    visited, found = 0, []
    for part in parts:
        try:
            some, seen = lists.bounds(part.rows.lists, query.touched, part.rows.totals, query.c_max, threads)
        except ValueError as error:
            raise damaged_part(part, error) from None
        found.append(some)
        visited += seen
    return np.concatenate(found), visited


def distances(parts: Sequence[Part], query: Query, rows: Int64Array, threads: int) -> Float32Array:
    """The distances of some rows of a snapshot, given in rising order."""
    if query.overlap != "residual":
        try:
            return query.listed.distances([part.rows.stored for part in parts], rows)
        except ValueError as error:
            raise damaged_among(parts, error) from None
    out = np.empty(len(rows), dtype=np.float32)
    for part in parts:
        low, high = np.searchsorted(rows, (part.span.start, part.span.stop)).tolist()
        if low < high:
            out[low:high] = _compared(part, query, rows[low:high] - part.start, threads)
    return out


def _compared(part: Part, query: Query, rows: Int64Array, threads: int) -> Float32Array:
    totals = part.rows.totals[rows].astype(np.float64)
    out = np.empty((1, len(rows)), dtype=np.float32)
    try:
        bags = part.bags.select(rows)
        x, graph, size = query.views
        places = query.place[bags.words]
        shares = bags.counts / np.repeat(totals, np.diff(bags.indptr))
        y = passes.view(Csr(bags.indptr, places, shares.astype(np.float32), (len(rows), size)))
    except (ValueError, IndexError) as error:
        raise damaged_part(part, error) from None
    passes.related_pairs(x, y, graph, query.c_max, query.overlap, "both", out, threads=threads)
    out[0, totals == 0] = np.inf
    result: Float32Array = out[0]
    return result


def damaged_among(parts: Sequence[Part], error: Exception) -> FormatError:
    """The error for parts of which the kernel says that one is damaged; ``verify`` says which."""
    names = " or ".join(str(part.key[1]) for part in parts)
    return with_remedy(FormatError(f"Segment {names} of the index is damaged: {error}."))


def damaged_part(part: Part, error: Exception) -> FormatError:
    """The error for a part whose arrays cannot be what was written."""
    return with_remedy(FormatError(f"{part.key[0]} {part.key[1]} of the index is damaged: {error}."))

"""Rel-RWMD over inverted lists where words weigh more or less, and where words without vectors count.

A document's mass of a word is what the word counts there times the word's weight, as a share of the sum over the
document. So the lists serve as they are stored: what a word saves is multiplied by its weight, and the sums of the
documents take the place of their lengths. Only those sums belong to one state of the collection; they are made when
they are first needed. Words without a vector have lists of their own, and save something only where the query has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from wordferry.base.arrays import (
    BoolArray,
    Csr,
    Float32Array,
    Float64Array,
    Int32Array,
    Int64Array,
    Neighbors,
    distinct,
)
from wordferry.base.lazy import sparse as sp
from wordferry.index.bounded import compared_in_order, summed
from wordferry.index.nearest import maps_in_parts, part_by_part, ranked
from wordferry.index.query_words import Words
from wordferry.index.scale import Asked, Scale
from wordferry.index.snapshot import Part, Snapshot, damaged_among, damaged_part
from wordferry.index.sums import Sums
from wordferry.kernels import passes
from wordferry.kernels import related_lists as lists

_FEW = 1024
"""With no more documents than this to choose from, all of them are compared."""
_ROUNDING = 1.2e-7
"""How far a sum in float32 may be off for each of its terms, relative to the largest: two units in the last place."""


class WeighedQuery:
    """One query against the documents of a snapshot.

    Only its own words and those related to them are told apart; every other word of a document is c_max away.
    """

    def __init__(self, words: Words, scale: Scale, asked: Asked, overlap: str) -> None:
        self._scale, self.overlap, self.c_max = scale, overlap, words.c_max
        ids, weights = asked.ids, np.concatenate(scale.asked(asked))
        self.masses = (weights / weights.cumsum()[-1]).astype(np.float32)  # summed as in a row of a matrix
        near, far, costs = words.edges(ids)
        related = distinct(far)
        related = related[ids.take(np.searchsorted(ids, related), mode="clip") != related]
        numbers = np.arange(len(ids))
        # A word's number here: its place in the query, behind those the words related to it, and one for all others.
        self._size = len(self.masses) + len(related) + 1
        self._known = _Numbers(ids, numbers, related, np.arange(len(self.masses), self._size - 1), self._size - 1)
        nothing = asked.others[:0]
        self._others = _Numbers(asked.others, len(ids) + np.arange(len(asked.others)), nothing, nothing, self._size - 1)
        self._edges = numbers[near], self._known.of(far), costs
        self._given = (np.concatenate([ids, far]), ids, self.masses[numbers], far, costs)
        self.known = ids, self.masses[numbers]
        """The words with a vector, and their masses."""
        self.others = asked.others, self.masses[self._others.own]
        """The same of those without that some document has."""
        new = len(scale.known) + len(scale.others) + np.arange(len(asked.new_counts))
        self._words = np.concatenate([ids, len(scale.known) + asked.others, new])

    @cached_property
    def listed(self) -> lists.ListQuery:
        """As the lists take it; not for residual. Words without a vector are numbered behind those with one."""
        size = len(self._scale.known) + len(self._scale.others) + len(self.masses)
        _, _, _, far, costs = self._given
        edges = self._edges[0].astype(np.int32), far.astype(np.int32), costs
        return lists.ListQuery(self._words.astype(np.int32), self.masses, edges, self.c_max, self.overlap, size)

    @property
    def views(self) -> tuple[passes.View, passes.View]:
        """The query, and its related words."""
        m, size = len(self.masses), self._size
        x = Csr(np.array([0, m]), np.arange(m, dtype=np.int32), self.masses, (1, size))
        rows, columns, costs = self._edges
        if self.overlap == "residual":  # the words of the documents are walked there
            rows, columns = np.concatenate([rows, columns]), np.concatenate([columns, rows])
            costs = np.concatenate([costs, costs])
            _, first = np.unique(rows * size + columns, return_index=True)
            rows, columns, costs = rows[first], columns[first], costs[first]
        graph = sp.csr_array((costs, (rows, columns)), shape=(size, size), dtype=np.float32)
        graph.sort_indices()
        links = Csr(graph.indptr.astype(np.int64), graph.indices.astype(np.int32), graph.data, (size, size))
        return passes.view(x), passes.view(links)

    def touched(self) -> tuple[lists.Touched, lists.Touched]:
        """What the lists of the query's words, and of those related to them, save: with vectors, and without."""
        every, ids, masses, far, costs = self._given
        words = distinct(every)
        near = np.full(len(words), np.float32(self.c_max))
        np.minimum.at(near, np.searchsorted(words, far), costs)
        known = self._saving(words, near, np.searchsorted(words, ids), masses, self._scale.known)
        numbers, own = self.others
        near = np.full(len(numbers), np.float32(self.c_max))
        return known, self._saving(numbers, near, np.arange(len(numbers)), own, self._scale.others)

    def _saving(
        self, words: Int64Array, near: Float32Array, own: Int64Array, masses: Float32Array, scale: Float64Array
    ) -> lists.Touched:
        common = np.zeros(len(words), dtype=np.float32)
        if self.overlap == "keep":
            near[own] = 0
        else:
            common[own] = masses
        weights = scale[words]
        scaled = (near * weights, (np.float32(self.c_max) - near) * weights, common / weights)
        return lists.Touched(words.astype(np.int32), *(some.astype(np.float32) for some in scaled))

    def distances(self, part: Part, sums: Sums, rows: Int64Array, *, others: bool, threads: int) -> Float32Array:
        """The distances of some rows of a part."""
        totals, out = sums.exact[rows], np.empty((1, len(rows)), dtype=np.float32)
        try:
            bags = part.bags.select(rows)
            room, scale = sums.repeats.room, self._scale

            def counted(indptr: Int64Array, counts: Int32Array) -> Float64Array:
                return scale.times(counts, None if room is None else np.repeat(room[rows], np.diff(indptr)))

            weights = counted(bags.indptr, bags.counts) * scale.known[bags.words]
            kinds = [(bags.indptr, self._known.of(bags.words), weights)]
            if others:
                some = bags.others
                weights = counted(some.indptr, some.counts) * scale.others[some.words]
                kinds.append((some.indptr, self._others.of(some.words), weights))
            indptr, words, values = side_by_side(kinds)
            shares = (values / np.repeat(totals, np.diff(indptr))).astype(np.float32)
            y = passes.view(Csr(indptr, words.astype(np.int32), shares, (len(rows), self._size)))
        except (ValueError, IndexError) as error:
            raise damaged_part(part, error) from None
        x, graph = self.views
        scan = self.overlap != "residual"
        passes.related_pairs(x, y, graph, self.c_max, self.overlap, "both", out, scan=scan, threads=threads)
        out[0, totals == 0] = np.inf
        result: Float32Array = out[0]
        return result


class _Numbers:
    """Which number a query gives to a word of a document."""

    def __init__(self, own: Int64Array, places: Int64Array, related: Int64Array, behind: Int64Array, rest: int) -> None:
        words, numbers = np.concatenate([own, related]), np.concatenate([places, behind])
        order = np.argsort(words)
        self._words, self._numbers, self._rest, self.own = words[order], numbers[order], rest, places

    def of(self, words: Int64Array | Int32Array) -> Int64Array:
        if not len(self._words):
            return np.full(len(words), self._rest)
        at = np.minimum(np.searchsorted(self._words, words), len(self._words) - 1)
        return np.where(self._words[at] == words, self._numbers[at], self._rest)


_Entries = tuple[Int64Array, Int64Array, Float64Array]
"""CSR: where rows begin, words, and what each weighs."""


def side_by_side(kinds: Sequence[_Entries]) -> _Entries:
    """The entries of each row of several, one after the other."""
    if len(kinds) == 1:
        return kinds[0]
    sizes = [np.diff(indptr) for indptr, _, _ in kinds]
    indptr = np.concatenate(([0], np.cumsum(sum(sizes)))).astype(np.int64)
    words, values, start = np.empty(indptr[-1], np.int64), np.empty(indptr[-1]), indptr[:-1]
    for (own, some, data), size in zip(kinds, sizes, strict=True):
        places = np.repeat(start - own[:-1], size) + np.arange(len(some))
        words[places], values[places] = some, data
        start = start + size
    return indptr, words, values


def nearest(
    snapshot: Snapshot,
    query: WeighedQuery,
    scale: Scale,
    sums: Callable[[Part], Sums],
    k: int,
    mask: BoolArray | None,
    *,
    others: bool,
    threads: int,
) -> Neighbors:
    """The k nearest rows of the snapshot that the mask allows, by (distance, row): those of comparing with all."""
    if query.overlap != "residual":
        return _nearest_by_kernel(snapshot, query, scale, sums, k, mask, threads)
    rows = np.arange(len(snapshot.numbers)) if mask is None else np.flatnonzero(mask)

    def compare(some: Int64Array) -> Float32Array:
        """The distances of some rows, which rise."""
        found = [np.zeros(0, np.float32)]
        for part in snapshot.parts:
            low, high = np.searchsorted(some, (part.span.start, part.span.stop))
            if low < high:
                here = some[low:high] - part.start
                found.append(query.distances(part, sums(part), here, others=others, threads=threads))
        return np.concatenate(found)

    if len(rows) <= max(_FEW, k):
        visited, found = 0, lists.Found(rows, compare(rows), 0, len(rows))
    else:
        bounds, visited = bounds_of(snapshot, query.touched(), query.c_max, sums, others=others, threads=threads)
        found = compared_in_order(bounds, mask, k, _slack(snapshot, query), compare)
    return ranked(found, k, {"pairs": len(rows), "postings": visited, "evaluated": found.evaluated})


def _nearest_by_kernel(
    snapshot: Snapshot,
    query: WeighedQuery,
    scale: Scale,
    sums: Callable[[Part], Sums],
    k: int,
    mask: BoolArray | None,
    threads: int,
) -> Neighbors:
    """The kernel does it all; nothing is held for every document but its sum."""
    if snapshot.count(mask) > max(_FEW, k) and maps_in_parts(snapshot):
        slack, weights = _slack(snapshot, query, sums), scale.native

        def search(part: Part, some: BoolArray | None, most: int) -> lists.Found:
            return lists.nearest_weighed(query.listed, [sums(part).rough], weights, some, slack, most, threads)

        return part_by_part(snapshot, k, mask, search)
    parts = [sums(part).rough for part in snapshot.parts]
    allowed = snapshot.count(mask)
    try:
        if allowed <= max(_FEW, k):
            rows = np.arange(allowed) if mask is None else np.flatnonzero(mask)
            values = lists.weighed_distances(query.listed, parts, scale.native, rows)
            found = lists.Found(rows, values, 0, allowed)
        else:
            slack = _slack(snapshot, query, sums)
            found = lists.nearest_weighed(query.listed, parts, scale.native, mask, slack, k, threads)
    except ValueError as error:
        raise damaged_among(snapshot.parts, error) from None
    return ranked(found, k, {"pairs": allowed, "postings": found.visited, "evaluated": found.evaluated})


def _slack(snapshot: Snapshot, query: WeighedQuery, sums: Callable[[Part], Sums] | None = None) -> float:
    """How far bounds may be off: by sums in float32, and by the sums of documents where these are rough."""
    longest = max(part.rows.longest + part.rows.longest_others for part in snapshot.parts)
    rough = 0.0 if sums is None else max(sums(part).error for part in snapshot.parts)
    return query.c_max * (_ROUNDING * (longest + 32) + rough)


def bounds_of(
    snapshot: Snapshot,
    touched: tuple[lists.Touched, lists.Touched],
    rest: float,
    sums: Callable[[Part], Sums],
    *,
    others: bool,
    threads: int,
) -> tuple[Float32Array, int]:
    """What moving each document onto the query costs, and how many entries of lists were visited.

    ``touched`` are words with vectors, and without; every other word costs ``rest``.
    """
    known, unknown = touched
    return summed(
        snapshot.parts,
        known,
        unknown if others else None,
        lambda part: sums(part).short,
        rest,
        threads,
        lambda part: sums(part).repeats,
    )

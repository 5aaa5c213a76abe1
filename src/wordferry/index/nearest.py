"""Rel-RWMD over inverted lists: exact nearest documents without looking at most of them.

Moving a document onto the query costs c_max for every word that the query neither has nor is related to, so that side
of the distance is c_max less what the lists of the touched words save. It bounds the distance from below. Documents
are compared in full in rising order of the bound, until the bound passes the k-th distance found: the answer is that
of comparing with every document, bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from wordferry.base.arrays import BoolArray, Csr, Float32Array, Int64Array, Neighbors
from wordferry.index.bounded import compared_in_order, summed
from wordferry.index.query_words import Query
from wordferry.index.snapshot import Part, Snapshot, damaged_among, damaged_part
from wordferry.kernels import passes
from wordferry.kernels import related_lists as lists

_FEW = 1024
"""With no more documents than this to choose from, all of them are compared."""
_LARGE = 1 << 18
"""An index of more documents than this is searched part by part at first, so that it is never mapped as a whole."""
_ROUNDING = 1.2e-7
"""How far a sum in float32 may be off for each of its terms, relative to the largest: two units in the last place."""


def nearest(snapshot: Snapshot, query: Query, k: int, mask: BoolArray | None, threads: int) -> Neighbors:
    """The k nearest rows of the snapshot that the mask allows, by (distance, row)."""
    allowed = snapshot.count(mask)
    if allowed > max(_FEW, k) and query.overlap != "residual":
        if maps_in_parts(snapshot):
            slack = _slack(snapshot, query)
            return part_by_part(
                snapshot,
                k,
                mask,
                lambda part, some, most: query.listed.nearest([part.rows.stored], some, slack, most, threads),
            )
        return _search_lists(snapshot, query, k, mask, threads)
    if allowed <= max(_FEW, k):
        rows = np.arange(len(snapshot.numbers)) if mask is None else np.flatnonzero(mask)
        found = lists.Found(rows, distances(snapshot.parts, query, rows, threads), 0, allowed)
        return ranked(found, k, {"pairs": allowed, "postings": 0, "evaluated": allowed})
    bounds, visited = summed(snapshot.parts, query.touched, None, lambda part: part.rows.totals, query.c_max, threads)
    found = compared_in_order(
        bounds, mask, k, _slack(snapshot, query), lambda rows: distances(snapshot.parts, query, rows, threads)
    )
    return ranked(found, k, {"pairs": allowed, "postings": visited, "evaluated": found.evaluated})


def nearest_panel(
    snapshot: Snapshot, queries: Sequence[Query], k: int, mask: BoolArray | None, threads: int
) -> Neighbors:
    """The k nearest rows to each of several queries; where it pays, documents are walked once for all of them."""
    allowed = snapshot.count(mask)
    if len(queries) == 1 or allowed <= max(_FEW, k) or any(query.overlap == "residual" for query in queries):
        found = [nearest(snapshot, query, k, mask, threads) for query in queries]
        return found[0] if len(found) == 1 else stacked(found)
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
    if len(rows) == k:
        return Neighbors(rows[None, :], distances[None, :], counts=counts)
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


def part_by_part(
    snapshot: Snapshot, k: int, mask: BoolArray | None, search: Callable[[Part, BoolArray | None, int], lists.Found]
) -> Neighbors:
    """The same answer, with no more of the files mapped at once than a part has.

    A process that searches once would otherwise map most of the index and never use it again; who goes on searching
    maps it with the next query. ``search`` looks at the allowed rows of one part, for no more than there are.
    """
    found = []
    for part in snapshot.parts:
        allowed = None if mask is None else mask[part.span]
        some = len(part.rows) if allowed is None else int(np.count_nonzero(allowed))
        if some:
            try:
                near = search(part, allowed, min(k, some))
            except ValueError as error:
                raise damaged_part(part, error) from None
            found.append(replace(near, rows=near.rows + part.start))
            part.rows.let_go()
    both = lists.Found(
        np.concatenate([near.rows for near in found]),
        np.concatenate([near.distances for near in found]),
        sum(near.visited for near in found),
        sum(near.evaluated for near in found),
    )
    return ranked(both, k, {"pairs": snapshot.count(mask), "postings": both.visited, "evaluated": both.evaluated})


def maps_in_parts(snapshot: Snapshot) -> bool:
    """Whether a search goes part by part: the first one in a large index."""
    return len(snapshot.numbers) > _LARGE and snapshot.first_search()


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

"""Exact search by the costly distances: documents that the inverted lists rule out are never compared.

A word that is not related to any word of the query is at least as far from all of them as its own r-th neighbour. The
lists therefore bound from below what moving a document onto the query costs, for rwmd, act and wmd by true distances
and for rel-wmd by related costs. Only documents whose bound does not exceed the k-th distance are handed on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from wordferry.base.arrays import BoolArray, Float32Array, Int64Array, Neighbors
from wordferry.base.cancel import check_cancelled
from wordferry.compare.problem import Distance
from wordferry.index.bounded import row_means, summed
from wordferry.index.query_words import Words
from wordferry.index.snapshot import Part, Snapshot
from wordferry.kernels import passes
from wordferry.words.related.graph import RelatedWords

TRUE = ("rwmd", "act", "wmd")
RELATED = ("rel-wmd",)
_LEAST = 2000
"""With fewer documents than this, the lists are not worth the trouble."""
_SHARE = 4
"""A shortlist of more than one in so many documents is given up: preparing all of them pays off then."""
_DEAR = 40
"""Where better bounds can be had, they are made for shortlists of more than one in so many."""
_SMALL = 1 << 15
"""Where problems are solved, having fewer documents than this all prepared costs less than better bounds."""
_WHOLE = 1 << 18
"""In an index of more documents than this they are never prepared all at once, however few are ruled out."""
_BLOCK = 1 << 15
"""At most so many documents are prepared at a time, so that little memory is needed."""
_STEP = 1 << 12
"""So many are at first, then twice as many each time: the k-th distance may rule out the others soon."""
_FIRST = 64
"""At least so many documents with the lowest bounds are compared to learn how near the k-th is."""
_SLACK = 5e-5
"""How far kernels in float32 may be off, relative to the largest cost: more than twice what their tests allow."""


def applies(record: Distance, snapshot: Snapshot, graph: RelatedWords | None) -> bool:
    """Whether the lists bound this distance: the graph must hold every word's true nearest."""
    return (
        graph is not None
        and record.name in (*TRUE, *RELATED)
        and graph.record.method == "exact"
        and not np.isnan(graph.c_max)
        and len(snapshot.numbers) >= _LEAST
    )


def tightens(record: Distance, snapshot: Snapshot) -> bool:
    """Whether better bounds than those of the lists can be had, and pay off."""
    return record.name in TRUE and (not record.transport or len(snapshot.numbers) >= _SMALL)


class Bounds(NamedTuple):
    """What each document is away from a query at least."""

    values: Float32Array
    visited: int
    """Entries of lists."""
    largest: float
    """The largest cost of moving a word, to which rounding is relative."""
    longest: int
    """The number of different words of the longest document."""


def _totals(part: Part) -> Float32Array:
    return part.rows.totals


def bounds_of(
    snapshot: Snapshot, words: Words, query: tuple[Int64Array, Float32Array], name: str, overlap: str
) -> Bounds:
    """Bounds from the lists."""
    kind = "keep" if overlap == "keep" else "omr"
    longest = max(part.rows.longest for part in snapshot.parts)
    if name not in TRUE:
        touched = words.query(*query, kind).touched
        values, visited = summed(snapshot.parts, touched, None, _totals, words.c_max, 1)
        return Bounds(values, visited, words.c_max, longest)
    values, visited = summed(snapshot.parts, words.true_costs(*query, kind), None, _totals, 0.0, 1)
    values += np.concatenate([words.reach_of(part) for part in snapshot.parts])
    return Bounds(values, visited, 2 * words.longest_vector, longest)


def walked(snapshot: Snapshot, words: Words, ids: Int64Array, bounds: Bounds) -> Bounds:
    """Bounds from what every word costs at least, not only the related ones: all documents are walked for them."""
    costs = words.least_costs(ids).astype(np.float64)
    found = [row_means(part, part.rows.totals, costs) for part in snapshot.parts]
    return bounds._replace(values=np.maximum(bounds.values, np.concatenate(found)))


def nearest(
    bounds: Bounds,
    k: int,
    mask: BoolArray | None,
    among: Callable[[Int64Array], Neighbors],
    tightened: Callable[[Bounds], Bounds] | None = None,
) -> Neighbors | None:
    """The k nearest rows; None when it pays to prepare all documents. ``among`` gives those of some rows, which rise.

    ``tightened`` makes better bounds at a higher price, which is paid where the first ones do not do.
    """
    values = bounds.values
    allowed = len(values) if mask is None else int(np.count_nonzero(mask))
    heap = passes.Heaps(1, min(max(4 * k, _FIRST), allowed))
    heap.offer(slice(0, 1), values[None, :], 0, mask, 1)
    first = among(np.sort(heap.finish(1).indices[0]))
    slack = _SLACK * bounds.largest * (1 + bounds.longest / 400)
    near = values <= float(first.distances[0, : min(k, allowed)].max()) + slack
    if mask is not None:
        near &= mask
    rows = np.flatnonzero(near)
    if len(rows) * (_SHARE if tightened is None else _DEAR) > len(values):
        if tightened is not None:
            return nearest(tightened(bounds), k, mask, among)
        if len(values) <= _WHOLE:
            return None
    found, evaluated = _in_order(rows[np.argsort(values[rows], kind="stable")], values, slack, k, among)
    touched = {"postings": bounds.visited, "evaluated": evaluated, "pairs": allowed}
    return replace(found, counts={**found.counts, **touched})


def _in_order(
    rows: Int64Array, values: Float32Array, slack: float, k: int, among: Callable[[Int64Array], Neighbors]
) -> tuple[Neighbors, int]:
    """The nearest of some rows, given in rising order of their bounds, and how many of them were compared.

    No more than a block of them is prepared at a time, until a bound is above the k-th distance.
    """
    step = min(_STEP, _BLOCK)
    found, start = among(np.sort(rows[:step])), min(step, len(rows))
    while start < len(rows):
        check_cancelled()
        last = found.distances[0, k - 1] if found.distances.shape[1] >= k else np.inf
        if values[rows[start]] > last + slack:
            break
        step = min(2 * step, _BLOCK)
        found = Neighbors.merge([found, among(np.sort(rows[start : start + step]))], k)
        start = min(start + step, len(rows))
    return found, start

"""Exact search by the costly distances: documents that the inverted lists rule out are never compared.

A word that is not related to any word of the query is at least as far from all of them as its own r-th neighbour. The
lists therefore bound from below what moving a document onto the query costs, for rwmd, act and wmd by true distances
and for rel-wmd by related costs. Only documents whose bound does not exceed the k-th distance are handed on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from wordferry.base.arrays import BoolArray, Float32Array, Int64Array
from wordferry.compare.problem import Distance
from wordferry.index.query_words import Words
from wordferry.index.snapshot import Part, Snapshot, damaged_part
from wordferry.kernels import passes
from wordferry.kernels import related_lists as lists
from wordferry.words.related.graph import RelatedWords

TRUE = ("rwmd", "act", "wmd")
RELATED = ("rel-wmd",)
_LEAST = 2000
"""With fewer documents than this, the lists are not worth the trouble."""
_SHARE = 4
"""A shortlist of more than one in so many documents is given up: preparing all of them pays off then."""
_FIRST = 64
"""At least so many documents with the lowest bounds are compared to learn how near the k-th is."""
_SLACK = 5e-5
"""How far kernels in float32 may be off, relative to the largest cost: more than twice what their tests allow."""


@dataclass(frozen=True)
class Shortlist:
    """The rows of a snapshot that can be among the k nearest, and what it took to know."""

    rows: Int64Array
    postings: int


def applies(record: Distance, snapshot: Snapshot, graph: RelatedWords | None) -> bool:
    """Whether the lists bound this distance: the graph must hold every word's true nearest."""
    return (
        graph is not None
        and record.name in (*TRUE, *RELATED)
        and graph.record.method == "exact"
        and not np.isnan(graph.c_max)
        and len(snapshot.numbers) >= _LEAST
    )


def shortlist(
    snapshot: Snapshot,
    words: Words,
    query: tuple[Int64Array, Float32Array],
    record: Distance,
    overlap: str,
    k: int,
    mask: BoolArray | None,
    compare: Callable[[Int64Array], Float32Array],
) -> Shortlist | None:
    """The documents to compare, in rising order; None when the bounds rule out too few."""
    kind = "keep" if overlap == "keep" else "omr"
    if record.name in TRUE:
        bounds, visited = _summed(snapshot.parts, words.true_costs(*query, kind), 0.0)
        bounds += np.concatenate([words.reach_of(part) for part in snapshot.parts])
        scale = 2 * words.longest_vector
    else:
        bounds, visited = _summed(snapshot.parts, words.query(*query, kind).touched, words.c_max)
        scale = words.c_max
    allowed = len(bounds) if mask is None else int(np.count_nonzero(mask))
    heap = passes.Heaps(1, min(max(4 * k, _FIRST), allowed))
    heap.offer(slice(0, 1), bounds[None, :], 0, mask, 1)
    first = np.sort(heap.finish(1).indices[0])
    limit = float(compare(first)[: min(k, allowed)].max()) + _SLACK * scale * (
        1 + max(p.rows.longest for p in snapshot.parts) / 400
    )
    near = bounds <= limit
    if mask is not None:
        near &= mask
    rows = np.flatnonzero(near)
    return None if len(rows) * _SHARE > len(bounds) else Shortlist(rows, visited)


def _summed(parts: Sequence[Part], touched: lists.Touched, rest: float) -> tuple[Float32Array, int]:
    """The sums over the lists of all parts, and how many entries were visited."""
    found, visited = [], 0
    for part in parts:
        try:
            some, seen = lists.bounds(part.rows.lists, touched, part.rows.totals, rest, 1)
        except ValueError as error:
            raise damaged_part(part, error) from None
        found.append(some)
        visited += seen
    return np.concatenate(found), visited

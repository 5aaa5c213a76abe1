"""Cosine and L1 over posting lists: only the words that a document shares with the query make a difference.

The lists of the query's own words give, for every document, the product with the query or the mass that both have in
common, up to rounding. Documents that cannot be told from the k-th by that are compared as everywhere else, so that the
answer is that of comparing with every document, bit by bit. All documents that share nothing with the query are equally
far away, so that of those the first k will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from wordferry.base.arrays import Float32Array, Int64Array, Neighbors
from wordferry.base.runtime import check_cancelled
from wordferry.compare.problem import Distance, Shared
from wordferry.index.search import lists, memory
from wordferry.index.search.views import Request, View
from wordferry.index.search.weights import QueryWords
from wordferry.kernels.lists import Touched
from wordferry.kernels.passes import Nearest

_ROWS = 1 << 15
"""Documents that are compared at once, so that little memory is needed."""
_LIGHTEST = 1e-5
"""A query with a word of a smaller share than this is compared with everything: it might go unnoticed in a sum."""
_SCALES = (1e-15, 1e15)
"""A query is compared with everything, too, where words weigh less or more: float32 could not hold their sums."""


@dataclass(frozen=True, eq=False)
class SharedQuery:
    """The words of a query as the lists take them."""

    kind: Shared
    words: Touched
    slack: float
    """How far what the lists give may be from a distance as it is computed elsewhere, both in float32."""
    sound: bool
    """False if a shared word's contribution could round to zero, so that lists alone cannot decide."""

    @classmethod
    def of(cls, view: View, words: QueryWords, kind: Shared) -> SharedQuery:
        own = view.weights.of_query(words)
        product = kind is Shared.PRODUCT
        whole = float(np.sqrt((own**2).sum()) if product else own.sum())
        inside = (words.numbers < view.snapshot.terms.size) & (own > 0)
        order = np.argsort(words.numbers[inside])
        numbers, shares = words.numbers[inside][order], (own[inside] / whole)[order]
        used, nothing = view.weights.per_word[numbers], np.zeros(len(numbers))
        # A product adds up count times weight; of a common mass no more counts than the query has.
        values = (nothing, shares * used, nothing) if product else (2 * used, nothing, shares / used)
        touched = Touched(numbers.astype(np.int32), *(some.astype(np.float32) for some in values))
        low, high = _SCALES
        sound = bool((own > _LIGHTEST * whole).all() and (used > low).all() and (used < high).all())
        return cls(kind, touched, (1.0 if product else 2.0) * lists.ROUNDING * (len(own) + 32), sound)

    def shared(self, view: View, threads: int) -> tuple[Float32Array, int]:
        """Less the share that the query and each document have in common, and how many entries were visited.

        Documents that share nothing are at 0, and those without words at infinity.
        """
        return lists.bounds(view, self.words, 0.0, threads, "norms" if self.kind is Shared.PRODUCT else "sums")


class SharedWords:
    """Candidates from the lists, compared together for many queries."""

    together = 64
    """Documents are prepared once for the candidates of so many queries."""

    def applies(self, view: View, distance: Distance, overlap: str) -> bool:
        return distance.shared is not None

    def nearest(self, view: View, queries: Sequence[QueryWords], request: Request) -> Neighbors:
        kind = request.distance.shared
        assert kind is not None
        visited, rows = 0, [np.zeros(0, np.int64)]
        if request.k >= view.snapshot.count(request.mask):
            rows = [view.snapshot.rows(request.mask)]
        else:
            for words in queries:
                check_cancelled()
                some, seen = _candidates(view, SharedQuery.of(view, words, kind), request)
                rows.append(some)
                visited += seen
        every = rows[0] if len(rows) == 1 else np.unique(np.concatenate(rows))
        near = _nearest(view, queries, every, request).resized(request.k)
        return replace(near, counts={"postings": visited, "evaluated": len(every) * len(queries)})


def _candidates(view: View, query: SharedQuery, request: Request) -> tuple[Int64Array, int]:
    """The rows that can be among the k nearest, ascending, and how many entries of lists were visited."""
    if not query.sound:
        return view.snapshot.rows(request.mask), 0
    values, visited = query.shared(view, request.threads)
    heap = Nearest(1, request.k)
    heap.offer(0, values[None, :], 0, request.mask, request.threads)
    nearest, distances = heap.finish(request.threads)
    last = float(distances[0, -1])
    if np.isinf(last):  # all documents with words are among them
        return np.sort(nearest[0]), visited
    # The k-th of these is no further away than the slack says, and what is as near is no less so than it says.
    close = values <= np.float32(last + 2 * query.slack)
    if request.mask is not None:
        close &= request.mask
    rows = np.flatnonzero(close)
    apart = values[rows] < 0
    return (rows if apart.all() else np.sort(np.concatenate([rows[apart], rows[~apart][: request.k]]))), visited


def _nearest(view: View, queries: Sequence[QueryWords], rows: Int64Array, request: Request) -> Neighbors:
    """The nearest of some rows, ascending, to each query; worked through a block of rows at a time."""
    blocks = []
    for start in range(0, len(rows), _ROWS):
        check_cancelled()
        blocks.append(memory.compared(view, queries, request, rows[start : start + _ROWS]))
    return Neighbors.merge(blocks, min(request.k, len(rows)))

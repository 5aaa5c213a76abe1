"""Cosine and L1 over posting lists: only the words that a document shares with the query make a difference.

The lists of the query's own words give, for every document, the product with the query or the mass that both have in
common, up to rounding. Documents that cannot be told from the k-th by that are compared as everywhere else, so that the
answer is that of comparing with every document, bit by bit. All documents that share nothing with the query are equally
far away, so that of those the first k will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from wordferry.base.arrays import Int64Array, Neighbors
from wordferry.base.runtime import check_cancelled
from wordferry.compare.problem import Shared
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


TOGETHER = 64
"""Documents are prepared once for the candidates of so many queries."""


def nearest(view: View, queries: Sequence[QueryWords], request: Request) -> Neighbors:
    """The k nearest rows to each query: candidates from the lists, compared together for many queries."""
    kind = request.distance.shared
    assert kind is not None
    visited, rows = 0, [np.zeros(0, np.int64)]
    if request.k >= view.snapshot.count(request.mask):
        rows = [view.snapshot.rows(request.mask)]
    else:
        for words in queries:
            check_cancelled()
            some, seen = _candidates(view, words, kind, request)
            rows.append(some)
            visited += seen
    every, blocks = rows[0] if len(rows) == 1 else np.unique(np.concatenate(rows)), []
    for start in range(0, len(every), _ROWS):
        check_cancelled()
        blocks.append(memory.compared(view, queries, request, every[start : start + _ROWS]))
    near = Neighbors.merge(blocks, min(request.k, len(every))).resized(request.k)
    return replace(near, counts={"postings": visited, "evaluated": len(every) * len(queries)})


def _candidates(view: View, words: QueryWords, kind: Shared, request: Request) -> tuple[Int64Array, int]:
    """The rows that can be among the k nearest, ascending, and how many entries of lists were visited."""
    own, product = view.weights.of_query(words), kind is Shared.PRODUCT
    whole = float(np.sqrt((own**2).sum()) if product else own.sum())
    inside = (words.numbers < view.snapshot.terms.size) & (own > 0)
    order = np.argsort(words.numbers[inside])
    numbers, shares = words.numbers[inside][order], (own[inside] / whole)[order]
    used, nothing = view.weights.per_word[numbers], np.zeros(len(numbers))
    low, high = _SCALES
    if not ((own > _LIGHTEST * whole).all() and (used > low).all() and (used < high).all()):
        return view.snapshot.rows(request.mask), 0  # what a shared word adds could round to zero in the lists
    # A product adds up count times weight; of a common mass no more counts than the query has.
    parts = (nothing, shares * used, nothing) if product else (2 * used, nothing, shares / used)
    touched = Touched(numbers.astype(np.int32), *(some.astype(np.float32) for some in parts))
    # Documents that share nothing with the query are at 0, and those without words at infinity.
    values, visited = lists.bounds(view, touched, 0.0, request.threads, "norms" if product else "sums")
    heap = Nearest(1, request.k)
    heap.offer(0, values[None, :], 0, request.mask, request.threads)
    nearest, distances = heap.finish(request.threads)
    last = float(distances[0, -1])
    if np.isinf(last):  # all documents with words are among them
        return np.sort(nearest[0]), visited
    # How far the lists may be from distances as they are computed elsewhere, both in float32: the k-th of these is no
    # further away than that says, and what is as near is no less so.
    slack = (1.0 if product else 2.0) * lists.ROUNDING * (len(own) + 32)
    close = values <= np.float32(last + 2 * slack)
    if request.mask is not None:
        close &= request.mask
    rows = np.flatnonzero(close)
    apart = values[rows] < 0
    return (rows if apart.all() else np.sort(np.concatenate([rows[apart], rows[~apart][: request.k]]))), visited

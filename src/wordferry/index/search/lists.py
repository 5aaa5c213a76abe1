"""Rel-RWMD, cosine and L1 through posting lists: exact nearest documents without looking at most of them.

Moving a document onto the query costs c_max for every word that the query neither has nor is related to, so that side
of the distance is c_max less what the lists of the touched words save. It bounds the distance from below. Documents
are compared in full in ascending order of the bound, until the bound passes the k-th distance found: the answer is that
of comparing with every document, bit by bit. What a word saves is multiplied by its weight, and the sums of what the
documents weigh take the place of their lengths, so the lists serve every weighting as they are stored.

A sum of shares of Rel-RWMD and of the cosine distance, which an index compares by unless it is told otherwise, is found
alike: the lists of the query's own words give the second part up to rounding.

Of cosine and L1 alone these lists give, for every document, the product with the query or the mass that both have in
common, up to rounding. Documents that cannot be told from the k-th by that are compared as everywhere else, so that the
answer is that of comparing with every document, bit by bit. All documents that share nothing with the query are equally
far away, so that of those the first k will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from wordferry import _native
from wordferry.base.arrays import Float32Array, Int64Array, Neighbors, distinct
from wordferry.base.runtime import check_cancelled
from wordferry.compare.distances.blends import Blend, part_overlap
from wordferry.compare.problem import Distance, Shared
from wordferry.index.search import memory
from wordferry.index.search.views import Request, View
from wordferry.index.search.weights import QueryWords
from wordferry.index.storage.snapshot import reading_parts
from wordferry.kernels import lists
from wordferry.kernels.passes import Nearest

FEW = 1024
"""With no more documents than this to choose from, all of them are compared."""
ROUNDING = 1.2e-7
"""How far a sum in float32 may be off for each of its terms, relative to the largest: two units in the last place."""
_ROWS = 1 << 15
"""Documents that are compared at once, so that little memory is needed."""
_LIGHTEST = 1e-5
"""A query with a word of a smaller share than this is compared with everything: it might go unnoticed in a sum."""
_SCALES = (1e-15, 1e15)
"""A query is compared with everything, too, where words weigh less or more: float32 could not hold their sums."""
TOGETHER = 64
"""Documents are prepared once for the candidates of so many queries."""


@cache
def _shares(distance: Distance, overlap: str) -> tuple[str, float, float] | None:
    """What a distance is a sum of, with an overlap; None for one that lists cannot find.

    The overlap of Rel-RWMD, its share, and the share of cosine.
    """
    if distance.by_lists:
        return overlap, 1.0, 0.0
    parts = distance.parts if isinstance(distance, Blend) else ()
    moved = [part for part in parts if part[0].by_lists]
    cosine = [share for part, share in parts if part.shared is Shared.PRODUCT]
    if len(parts) != 2 or not moved or not cosine:
        return None
    relaxed, share = moved[0]
    return part_overlap(relaxed, overlap), share, cosine[0]


def can_find(view: View, distance: Distance, overlap: str) -> bool:
    """Whether lists give the nearest documents by a distance."""
    shares = _shares(distance, overlap)
    if shares is None or shares[0] == "residual":
        return False
    return view.graph is not None and not np.isnan(view.graph.c_max)


def nearest(view: View, queries: Sequence[QueryWords], request: Request) -> Neighbors:
    """The k nearest rows to each of a panel of queries: they walk the lists together, and documents where that pays."""
    allowed, k, costs = view.snapshot.count(request.mask), request.k, view.costs
    shares = _shares(request.distance, request.overlap)
    assert shares is not None
    part, moved, unshared = shares
    masses = [view.weights.masses(words) for words in queries]
    asked = [
        _native.ListQuery(
            words.numbers.astype(np.int32),
            own,
            *costs.edges(words.vectors[: words.with_vectors]),
            costs.c_max,
            _native.Overlap[part],
            view.snapshot.terms.size + len(words),
        )
        for words, own in zip(queries, masses, strict=True)
    ]
    cosines = [_cosine(own, moved, unshared) for own in masses] if unshared else []
    documents = view.natives(blended=bool(unshared)), view.weights.native
    with reading_parts(*view.snapshot.parts):
        if allowed > max(FEW, k):
            slack = moved * costs.c_max * ROUNDING * (view.longest + 32)
            slack += unshared * ROUNDING * (max(map(len, queries)) + 36)
            return lists.nearest(asked, documents, request.mask, slack, k, request.threads, cosines)
        rows = view.snapshot.rows(request.mask)
        values = [
            _native.list_distances(query, *documents, cosines[place : place + 1], rows)
            for place, query in enumerate(asked)
        ]
    return request.ranked(rows, np.stack(values))


def _cosine(masses: Float32Array, moved: float, unshared: float) -> _native.CosineShare:
    """What cosine adds to the distances of a query with these masses, given the shares of Rel-RWMD and of cosine."""
    whole = masses.astype(np.float64)
    unit = (whole / np.sqrt(np.cumsum(whole * whole)[-1])).astype(np.float32)
    return _native.CosineShare(unit, moved, unshared, lists.COSINE_LOST)


def touched(
    view: View, words: QueryWords, kind: str, untouched: float | Float32Array, most: float | None = None
) -> lists.Touched:
    """What the lists of a query's words, and of those related to them, save, for each occurrence of a word.

    ``untouched`` is the cost of a word that is not touched: one for all, or by number. No word costs more than that
    onto a related one, nor more than ``most``, which is c_max by default. Words that do not count are left out.
    """
    _, far, costs = view.costs.edges(words.vectors[: words.with_vectors], most)
    own = words.numbers < view.snapshot.terms.size
    numbers = distinct(np.concatenate([words.numbers[own], far]).astype(np.int64))
    rest = untouched[numbers] if isinstance(untouched, np.ndarray) else np.full(len(numbers), untouched, np.float32)
    near, common = rest.copy(), np.zeros(len(numbers), dtype=np.float32)
    np.minimum.at(near, np.searchsorted(numbers, far), costs)
    places = np.searchsorted(numbers, words.numbers[own])
    if kind == "keep":
        near[places] = 0
    else:
        common[places] = view.weights.masses(words)[own]
    some = view.weights.per_word[numbers] > 0
    weights = view.weights.per_word[numbers[some]]
    values = near[some] * weights, (rest - near)[some] * weights, common[some] / weights
    return lists.Touched(numbers[some].astype(np.int32), *(one.astype(np.float32) for one in values))


def bounds(view: View, words: lists.Touched, rest: float, threads: int, sums: str = "sums") -> tuple[Float32Array, int]:
    """For each document ``rest`` less what the touched words save, and how many entries of lists were visited.

    What is saved is a share of what documents weigh: of their ``sums``, or of their lengths as vectors ("norms").
    """
    found, visited = [np.zeros(0, np.float32)], 0
    for part in view.snapshot.parts:
        total = view.documents(part).short if sums == "sums" else view.norms(part)
        with reading_parts(part):
            some, seen = lists.bounds(part.rows.lists.view, *words, total, view.weights.repeats(part), rest, threads)
        found.append(some)
        visited += seen
    return np.concatenate(found), visited


def nearest_by_shared_words(view: View, queries: Sequence[QueryWords], request: Request) -> Neighbors:
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
    touched = lists.Touched(numbers.astype(np.int32), *(some.astype(np.float32) for some in parts))
    # Documents that share nothing with the query are at 0, and those without words at infinity.
    values, visited = bounds(view, touched, 0.0, request.threads, "norms" if product else "sums")
    heap = Nearest(1, request.k)
    heap.offer(0, values[None, :], 0, request.mask, request.threads)
    nearest, distances = heap.finish(request.threads)
    last = float(distances[0, -1])
    if np.isinf(last):  # all documents with words are among them
        return np.sort(nearest[0]), visited
    # How far the lists may be from distances as they are computed elsewhere, both in float32: the k-th of these is no
    # further away than that says, and what is as near is no less so.
    slack = (1.0 if product else 2.0) * ROUNDING * (len(own) + 32)
    close = values <= np.float32(last + 2 * slack)
    if request.mask is not None:
        close &= request.mask
    rows = np.flatnonzero(close)
    apart = values[rows] < 0
    return (rows if apart.all() else np.sort(np.concatenate([rows[apart], rows[~apart][: request.k]]))), visited

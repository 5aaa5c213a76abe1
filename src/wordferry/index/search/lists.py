"""Rel-RWMD through posting lists: exact nearest documents without looking at most of them.

Moving a document onto the query costs c_max for every word that the query neither has nor is related to, so that side
of the distance is c_max less what the lists of the touched words save. It bounds the distance from below. Documents
are compared in full in ascending order of the bound, until the bound passes the k-th distance found: the answer is that
of comparing with every document, bit by bit. What a word saves is multiplied by its weight, and the sums of what the
documents weigh take the place of their lengths, so the lists serve every weighting as they are stored.

A sum of shares of Rel-RWMD and of the cosine distance, which an index compares by unless it is told otherwise, is found
alike: the lists of the query's own words give the second part up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from wordferry import _native
from wordferry.base.arrays import Float32Array, Neighbors, distinct
from wordferry.compare.distances.blends import Blend, part_overlap
from wordferry.compare.problem import Distance, Shared
from wordferry.index.search.views import Request, View
from wordferry.index.search.weights import QueryWords
from wordferry.index.storage.snapshot import reading_parts
from wordferry.kernels import lists

FEW = 1024
"""With no more documents than this to choose from, all of them are compared."""
ROUNDING = 1.2e-7
"""How far a sum in float32 may be off for each of its terms, relative to the largest: two units in the last place."""


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
    documents = view.natives(blended=bool(unshared))
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

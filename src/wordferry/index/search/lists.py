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
from typing import NamedTuple

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


class _Shares(NamedTuple):
    """What a distance that lists can find is a sum of."""

    overlap: str
    """Of Rel-RWMD."""
    moved: float = 1.0
    """The share of Rel-RWMD."""
    unshared: float = 0.0
    """The share of cosine."""


@cache
def _shares(distance: Distance, overlap: str) -> _Shares | None:
    """The shares of a distance with an overlap; None for one that lists cannot find."""
    if distance.by_lists:
        return _Shares(overlap)
    parts = distance.parts if isinstance(distance, Blend) else ()
    moved = [part for part in parts if part[0].by_lists]
    cosine = [share for part, share in parts if part.shared is Shared.PRODUCT]
    if len(parts) != 2 or not moved or not cosine:
        return None
    relaxed, share = moved[0]
    return _Shares(part_overlap(relaxed, overlap), share, cosine[0])


class RelatedLists:
    """Panels of queries walk the lists, and documents once for all of them where that pays."""

    together = lists.PANEL

    def applies(self, view: View, distance: Distance, overlap: str) -> bool:
        shares = _shares(distance, overlap)
        if shares is None or shares.overlap == "residual":
            return False
        return view.graph is not None and not np.isnan(view.graph.c_max)

    def nearest(self, view: View, queries: Sequence[QueryWords], request: Request) -> Neighbors:
        allowed, k, costs = view.snapshot.count(request.mask), request.k, view.costs
        shares = _shares(request.distance, request.overlap)
        assert shares is not None
        masses = [view.weights.masses(words) for words in queries]
        asked = [
            _native.ListQuery(
                words.numbers.astype(np.int32),
                own,
                *costs.edges(words.vectors[: words.with_vectors]),
                costs.c_max,
                _native.Overlap[shares.overlap],
                view.snapshot.terms.size + len(words),
            )
            for words, own in zip(queries, masses, strict=True)
        ]
        cosines = [_cosine(own, shares) for own in masses] if shares.unshared else []
        documents = view.natives(blended=bool(shares.unshared))
        with reading_parts(*view.snapshot.parts):
            if allowed > max(FEW, k):
                slack = shares.moved * costs.c_max * ROUNDING * (view.longest + 32)
                slack += shares.unshared * ROUNDING * (max(map(len, queries)) + 36)
                return lists.nearest(asked, documents, request.mask, slack, k, request.threads, cosines)
            rows = view.snapshot.rows(request.mask)
            values = [
                _native.list_distances(query, *documents, cosines[place : place + 1], rows)
                for place, query in enumerate(asked)
            ]
        return request.ranked(rows, np.stack(values))


def _cosine(masses: Float32Array, shares: _Shares) -> _native.CosineShare:
    """What the cosine distance adds to that of a query, of whose words these are the masses."""
    whole = masses.astype(np.float64)
    unit = (whole / np.sqrt(np.cumsum(whole * whole)[-1])).astype(np.float32)
    return _native.CosineShare(unit, shares.moved, shares.unshared, lists.COSINE_LOST)


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

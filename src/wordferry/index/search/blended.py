"""A share of Rel-RWMD and one of cosine, through posting lists: what an index compares by unless it is told otherwise.

The lists of the query's words and of those related to them bound the first part from below; those of the query's own
words give the second up to rounding. Documents are compared in full in ascending order of the sum of both, until it
passes the k-th distance found: the answer is that of comparing with every document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from wordferry.base.arrays import Neighbors
from wordferry.compare.distances.blends import Blend, part_overlap
from wordferry.compare.problem import Distance, Shared
from wordferry.index.search.lists import FEW, ROUNDING, RelatedLists, list_query
from wordferry.index.search.requests import Request, in_order
from wordferry.index.search.shared_words import SharedQuery
from wordferry.index.search.views import View
from wordferry.index.search.weights import QueryWords
from wordferry.index.storage.snapshot import damaged_among
from wordferry.kernels import lists


class _Shares(NamedTuple):
    relaxed: Distance
    moved: float
    """The share of Rel-RWMD."""
    unshared: float
    """The share of cosine."""

    @classmethod
    def of(cls, distance: Distance) -> _Shares | None:
        """The shares of a blend of these two; None for any other distance."""
        parts = distance.parts if isinstance(distance, Blend) else ()
        moved = [part for part in parts if part[0].by_lists]
        cosine = [share for part, share in parts if part.shared is Shared.PRODUCT]
        return cls(*moved[0], cosine[0]) if len(parts) == 2 and moved and cosine else None


class BlendedLists:
    """Query by query, comparing with what both bounds together do not rule out."""

    def applies(self, view: View, distance: Distance, overlap: str) -> bool:
        shares = _Shares.of(distance)
        if shares is None:
            return False
        return RelatedLists().applies(view, shares.relaxed, part_overlap(shares.relaxed, overlap))

    def nearest(self, view: View, queries: Sequence[QueryWords], request: Request) -> Neighbors:
        """The k nearest rows to each query by (distance, row)."""
        shares = _Shares.of(request.distance)
        assert shares is not None
        return in_order(view, queries, request, lambda some: _nearest(view, some[0], request, shares))


def _nearest(view: View, words: QueryWords, request: Request, shares: _Shares) -> lists.Found:
    few = view.snapshot.count(request.mask) <= max(FEW, request.k)
    query = list_query(view, words, part_overlap(shares.relaxed, request.overlap))
    less, slack, visited = np.zeros(0, np.float32), 0.0, 0
    if not few:
        shared = SharedQuery.of(view, words, Shared.PRODUCT)
        if shared.sound:  # else shared words might go unnoticed, and a cosine distance is at least 0
            less, visited = shared.shared(view, request.threads)
        rounding = query.c_max * ROUNDING * (view.longest + 32)
        slack = shares.moved * rounding + shares.unshared * (shared.slack + 4 * ROUNDING)
    query = replace(query, cosine=lists.cosine_share(query.masses, shares.moved, shares.unshared, less))
    try:
        if few:
            rows = view.rows(request.mask)
            return request.ranked(rows, lists.distances(query, view.natives, rows)[None, :])
        found = lists.nearest([query], view.natives, request.mask, slack, request.k, request.threads)
    except ValueError as error:
        raise damaged_among(view.snapshot.parts, error) from None
    return replace(found, visited=found.visited + visited)

"""Comparing texts with the documents of an index: which strategy answers, and from rows to hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from wordferry.base.arrays import Neighbors
from wordferry.base.runtime import progress_for, thread_count
from wordferry.compare.measure import Measure
from wordferry.compare.problem import Distance
from wordferry.index.search import memory
from wordferry.index.search.centroids import Centroids
from wordferry.index.search.lists import RelatedLists
from wordferry.index.search.requests import Ask
from wordferry.index.search.shared_words import SharedWords
from wordferry.index.search.shortlist import Shortlist
from wordferry.index.search.views import Request, View
from wordferry.index.search.weights import QueryWords
from wordferry.index.storage.snapshot import OpenState
from wordferry.texts.bow import LookedUp


class Strategy(Protocol):
    """One way to find the nearest documents of a state; all ways give the same answer."""

    @property
    def together(self) -> int | None:
        """How many queries it answers at a time, none of them without words; None for all, whatever they have."""

    def applies(self, view: View, distance: Distance, overlap: str) -> bool:
        """Whether it can answer by this distance."""

    def nearest(self, view: View, queries: Sequence[QueryWords], request: Request) -> Neighbors:
        """The k nearest rows to each query by (distance, row)."""


STRATEGIES: tuple[Strategy, ...] = (SharedWords(), Centroids(), RelatedLists(), Shortlist(), memory.Scan())
"""In the order in which they are asked: the cheapest first."""


_MANY = 32
"""Queries that are worth comparing with every document on a GPU, where one is to be used."""


def nearest(view: View, queries: Sequence[QueryWords], request: Request) -> Neighbors:
    """The k nearest rows to each query, by the first strategy that applies."""
    if len(queries) >= _MANY:
        found = memory.nearest_on_device(view, queries, request)
        if found is not None:
            return found
    distance, overlap = request.distance, request.overlap

    def able() -> Strategy:
        # Stored costs are distances of vectors, so that other costs are computed in memory.
        some = STRATEGIES if distance.costs <= {"euclidean"} else STRATEGIES[-1:]
        return next(one for one in some if one.applies(view, distance, overlap))

    chosen = view.kept(None, ("strategy", distance, overlap), able)
    if chosen.together is None:
        return chosen.nearest(view, queries, request)
    return view.in_order(queries, request, lambda some: chosen.nearest(view, some, request), chosen.together)


def similar(
    view: View, state: OpenState, asked: Sequence[LookedUp], measure: Measure, ask: Ask
) -> tuple[Neighbors, Sequence[QueryWords]]:
    """The nearest rows to each query, and the queries by the numbers of their words."""
    queries = [view.words(state.connection, tokens) for tokens in asked]
    first = ask.k if ask.rerank is None else ask.candidates
    request = Request(
        measure.distance,
        measure.overlap,
        min(first, view.snapshot.documents),
        state.allowed(ask.condition, ask.without),
        thread_count(ask.threads),
        None if ask.progress is None else progress_for(ask.progress, "searching"),
        ask.device,
    )
    near = nearest(view, queries, request)
    return (near if ask.rerank is None else _reranked(view, queries, near, ask, request)), queries


def _reranked(view: View, queries: Sequence[QueryWords], near: Neighbors, ask: Ask, request: Request) -> Neighbors:
    """The candidates of each query in the order of another distance; no other document is looked at."""
    assert ask.rerank is not None
    k = min(ask.k, view.snapshot.documents)
    distance = ask.rerank.distance
    request = replace(request, distance=distance, overlap=ask.rerank.overlap, k=k, progress=None)
    whole = memory.lacks_graph(view, distance)
    found = []
    for words, row in zip(queries, near.indices, strict=True):
        rows = np.sort(row[row >= 0])
        if whole:
            mask = np.zeros(len(view.snapshot.numbers), dtype=bool)
            mask[rows] = True
            found.append(memory.scan(view, [words], replace(request, mask=mask)))
        else:
            found.append(memory.compared(view, [words], request, rows).resized(k))
    rows, distances = (np.concatenate([getattr(one, name) for one in found]) for name in ("indices", "distances"))
    return Neighbors(rows, distances, counts=near.counts)

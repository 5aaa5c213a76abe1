"""Comparing texts with the documents of an index: which strategy answers, and from rows to hits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from wordferry.base.arrays import Neighbors
from wordferry.base.runtime import check_cancelled, progress_for, thread_count
from wordferry.compare.measure import Measure
from wordferry.compare.problem import Distance
from wordferry.index.search import centroids, lists, memory, shortlist
from wordferry.index.search.requests import Ask
from wordferry.index.search.views import Request, View
from wordferry.index.search.weights import QueryWords
from wordferry.index.storage.snapshot import OpenState
from wordferry.kernels.lists import PANEL
from wordferry.texts.bow import LookedUp

_MANY = 32
"""Queries that are worth comparing with every document on a GPU, where one is to be used."""


def _strategy(
    view: View, distance: Distance, overlap: str
) -> tuple[Callable[[View, Sequence[QueryWords], Request], Neighbors], int]:
    """The cheapest way to find the nearest documents by a distance - all ways give the same answer - and its panel.

    That is how many queries it takes at a time, none of them without words; 0 is all, whatever they have.
    """
    if distance.costs <= {"euclidean"}:  # stored costs are distances of vectors; others are computed in memory
        if distance.shared is not None:
            return lists.nearest_by_shared_words, lists.TOGETHER
        if distance.by_centroids:
            return centroids.nearest, 1
        if lists.can_find(view, distance, overlap):
            return lists.nearest, PANEL
        if shortlist.can_find(view, distance):
            return shortlist.nearest, 1
    return memory.scan, 0


def nearest(view: View, queries: Sequence[QueryWords], request: Request) -> Neighbors:
    """The k nearest rows to each query, in the cheapest way."""
    key = "strategy", request.distance, request.overlap
    find, together = view.kept(None, key, lambda: _strategy(view, request.distance, request.overlap))
    if len(queries) >= _MANY and memory.on_device(view, queries, request):
        find, together = memory.scan, 0
    order, full = list(range(len(queries))), len(queries)
    if together:
        order.sort(key=lambda number: len(queries[number]) == 0)  # those without words come last
        full = sum(len(words) > 0 for words in queries)
    found, step = [], together or full
    for start in range(0, full, step):
        check_cancelled()
        end = min(start + step, full)
        found.append(find(view, [queries[number] for number in order[start:end]], request))
        if request.progress is not None:
            request.progress(end, len(queries))
    found += [_nearest_to_nothing(view, request) for _ in range(full, len(queries))]
    back = np.argsort(order)
    counts = {name: sum(one.counts[name] for one in found) for name in ("postings", "evaluated")}
    counts = {"pairs": view.snapshot.count(request.mask) * len(queries), **counts}
    rows, distances = (np.concatenate([getattr(one, name) for one in found]) for name in ("indices", "distances"))
    return Neighbors(rows[back], distances[back], counts=counts)


def _nearest_to_nothing(view: View, request: Request) -> Neighbors:
    """The answer to a query without words: documents without words are equal to it, all others infinitely far."""
    rows = view.snapshot.rows(request.mask)
    sums = np.concatenate([np.zeros(0), *(view.documents(part).sums for part in view.snapshot.parts)])
    values = np.where(sums[rows] == 0, 0, np.inf).astype(np.float32)
    return request.ranked(rows, values[None, :], 0)


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

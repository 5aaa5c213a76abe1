"""What is asked of an index, checked; and answers put together query by query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from wordferry.base.arrays import BoolArray, Float32Array, Int64Array, Neighbors
from wordferry.base.runtime import Progress, ShowProgress, check_cancelled
from wordferry.compare.measure import Measure
from wordferry.compare.nearest import check_k
from wordferry.compare.problem import Distance
from wordferry.encoders.codes import CodedQuery
from wordferry.errors import InputError
from wordferry.index.search.filters import Condition, compile_filter

if TYPE_CHECKING:
    from wordferry.index.search.views import View
    from wordferry.index.search.weights import QueryWords

_LEAST_CANDIDATES = 100


class SearchOptions(TypedDict, total=False):
    """What :meth:`Index.search <wordferry.Index.search>` can be told, for type checkers."""

    filter: Mapping[str, Any] | None
    explain: bool
    rerank: str | None
    candidates: int | None
    vector: Any
    progress: ShowProgress
    k1: float
    b: float
    stem: float
    lift: float
    neighbours: int
    meaning: float
    power: float


class HowOptions(TypedDict, total=False):
    """How an index is told to compare, for type checkers."""

    distance: str | None
    weights: str | None
    unknown: str | None


class SimilarOptions(HowOptions, total=False):
    """What :meth:`Index.similar <wordferry.Index.similar>` can be told, for type checkers."""

    id: str | int | None
    filter: Mapping[str, Any] | None
    explain: bool
    rerank: str | None
    candidates: int | None
    by: str
    vector: Any
    threads: int | None
    progress: ShowProgress


@dataclass(frozen=True)
class Ask:
    """What is asked: how many hits, among which documents, and how to tell of it."""

    k: int
    condition: Condition | None = None
    explain: bool = False
    rerank: Measure | None = None
    """How candidates are ordered, where a second distance does it."""
    candidates: int = 0
    without: str | None = None
    """The id of a document that is not to be found: the one that is asked about."""
    threads: int | None = None
    progress: ShowProgress = None
    vectors: Sequence[CodedQuery] | None = None
    """One for each query, where meaning counts."""
    device: str | None = None
    """Where many queries are compared; None is what ``WORDFERRY_DEVICE`` says."""

    @classmethod
    def check(
        cls, k: int, filter: Mapping[str, Any] | None, rerank: Measure | None, candidates: int | None, **rest: Any
    ) -> Ask:
        """What a caller passes, or a message for what makes no sense."""
        k = k if type(k) is int and k > 0 else check_k(k)
        if candidates is not None:
            if rerank is None:
                raise InputError("candidates= is the size of the first stage of a search with rerank=; pass both.")
            if check_k(candidates) < k:
                raise InputError(f"candidates must be at least k ({k}), got {candidates}.")
        if rerank is not None and rerank.distance.own_weights:
            raise InputError(
                f"rerank={rerank.distance.name!r} has no meaning: it has weights of its own, and both stages share one "
                "weighting."
            )
        first = candidates or max(10 * k, _LEAST_CANDIDATES)
        condition = None if filter is None else compile_filter(filter)
        return cls(k, condition, rerank=rerank, candidates=first, **rest)


@dataclass(frozen=True)
class Request:
    """One search by a distance, down to what strategies need."""

    distance: Distance
    overlap: str
    k: int
    mask: BoolArray | None
    """Rows that may be found; None for all."""
    threads: int
    progress: Progress | None = None
    device: str | None = None

    def ranked(self, rows: Int64Array, distances: Float32Array, evaluated: int | None = None) -> Neighbors:
        """Rows and their distances to each query by (distance, row), -1 and infinity where there are fewer than k."""
        indices = np.full((len(distances), self.k), -1, dtype=np.int64)
        values = np.full((len(distances), self.k), np.inf, dtype=np.float32)
        for line, own in enumerate(distances):
            best = np.lexsort((rows, own))[: self.k]
            indices[line, : len(best)], values[line, : len(best)] = rows[best], own[best]
        counts = {"postings": 0, "evaluated": distances.size if evaluated is None else evaluated}
        return Neighbors(indices, values, counts=counts)


def in_order(
    view: View,
    queries: Sequence[QueryWords],
    request: Request,
    search: Callable[[Sequence[QueryWords]], Neighbors],
    together: int = 1,
) -> Neighbors:
    """The answers to all queries; ``search`` gives those to at most ``together`` queries, none of which is empty."""
    order = sorted(range(len(queries)), key=lambda number: len(queries[number]) == 0)  # those without words come last
    full = sum(len(words) > 0 for words in queries)
    found = []
    for start in range(0, full, together):
        check_cancelled()
        found.append(search([queries[number] for number in order[start : min(start + together, full)]]))
        if request.progress is not None:
            request.progress(min(start + together, full), len(queries))
    found += [nearest_to_nothing(view, request) for _ in range(full, len(queries))]
    back = np.argsort(order)
    counts = {name: sum(one.counts[name] for one in found) for name in ("postings", "evaluated")}
    counts = {"pairs": view.snapshot.count(request.mask) * len(queries), **counts}
    rows, distances = (np.concatenate([getattr(one, name) for one in found]) for name in ("indices", "distances"))
    return Neighbors(rows[back], distances[back], counts=counts)


def nearest_to_nothing(view: View, request: Request) -> Neighbors:
    """The answer to a query without words: documents without words are equal to it, all others infinitely far."""
    rows = view.rows(request.mask)
    sums = np.concatenate([np.zeros(0), *(view.documents(part).sums for part in view.snapshot.parts)])
    values = np.where(sums[rows] == 0, 0, np.inf).astype(np.float32)
    return request.ranked(rows, values[None, :], 0)

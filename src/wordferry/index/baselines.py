"""Cosine and L1 over inverted lists: only the words that a document shares with the query make a difference.

The lists of the query's own words give, for every document, the product with the query or the mass that both have in
common, up to rounding. Documents that cannot be told from the k-th by that are compared as everywhere else, so that the
answer is that of comparing with every document, bit by bit. All documents that share nothing with the query are equally
far away, so that of those the first k will do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from wordferry.base.arrays import BoolArray, Float32Array, Float64Array, Int64Array, Neighbors
from wordferry.base.cancel import check_cancelled
from wordferry.base.runtime import Progress, thread_count
from wordferry.compare.problem import Distance, Shared
from wordferry.compare.search import Searcher
from wordferry.index.nearest import damaged_part, nearest_to_nothing, stacked
from wordferry.index.snapshot import Part, Snapshot, matrix_of
from wordferry.index.weighed_lists import Asked, Scale
from wordferry.kernels import passes
from wordferry.kernels import related_lists as lists
from wordferry.texts.bow import TfIdf
from wordferry.words.embeddings import Embeddings

_ROUNDING = 1.2e-7
"""How far a sum in float32 may be off for each of its terms, relative to the whole: two units in the last place."""
_ROWS = 1 << 15
"""Documents that are compared at once, so that little memory is needed."""
_TOGETHER = 4096
"""Candidates of several queries that are compared together."""
_LIGHTEST = 1e-5
"""A query with a word of a smaller share than this is compared with everything: it might go unnoticed in a sum."""
_SCALES = (1e-15, 1e15)
"""The same where words weigh less or more than this: float32 could not hold what is made of them."""

Compare = Callable[[Int64Array, Sequence[int]], Neighbors]
"""The nearest of some rows, which rise, to some of the queries; the rows are numbered as in the snapshot."""


class Sizes:
    """What documents are divided by: the length of their vector of weights, or the sum; 4 bytes for a document."""

    def __init__(self, kind: Shared, scale: Scale, *, others: bool) -> None:
        self._kind, self._scale, self._others = kind, scale, others
        self._known: dict[Any, Float32Array] = {}

    def of(self, part: Part) -> Float32Array:
        """Those of a part, made when they are first asked for."""
        found = self._known.get(part.key)
        if found is None:
            found = self._known[part.key] = self._made(part)
        return found

    def _made(self, part: Part) -> Float32Array:
        if self._kind is Shared.MASS and self._scale.uniform and not self._others:
            return part.rows.totals
        if self._kind is Shared.PRODUCT:
            return np.sqrt(self._scale.sums(part, others=self._others, squared=True)).astype(np.float32)
        return self._scale.sums(part, others=self._others).astype(np.float32)

    def forget(self, parts: Sequence[Part]) -> None:
        """Let go of parts that are not among these."""
        for key in self._known.keys() - {part.key for part in parts}:
            self._known.pop(key, None)


@dataclass(frozen=True, eq=False)
class SharedQuery:
    """The words of a query as the lists take them."""

    known: lists.Touched
    others: lists.Touched
    rest: float
    """How far documents are that share no word with it."""
    slack: float
    """How far what the lists give may be from a distance as it is computed elsewhere, both in float32."""
    sound: bool
    """Whether every word that is shared can be told from none."""

    @classmethod
    def of(cls, kind: Shared, asked: Asked, scale: Scale) -> SharedQuery:
        known, others = asked.counts * scale.known[asked.ids], asked.other_counts * scale.others[asked.others]
        weights = np.concatenate([known, others, asked.new_counts * scale.unseen])
        whole = float(np.sqrt((weights**2).sum()) if kind is Shared.PRODUCT else weights.sum())
        rest = 1.0 if kind is Shared.PRODUCT else 2.0
        used = np.concatenate([scale.known[asked.ids], scale.others[asked.others]])
        low, high = _SCALES
        return cls(
            _touched(kind, asked.ids, known / whole, scale.known),
            _touched(kind, asked.others, others / whole, scale.others),
            rest,
            rest * _ROUNDING * (len(weights) + 32),
            bool((weights > _LIGHTEST * whole).all() and (used > low).all() and (used < high).all()),
        )

    def shared(self, snapshot: Snapshot, sizes: Sizes, threads: int) -> tuple[Float32Array, int]:
        """Less the share that the query and each document have in common, and how many entries were visited.

        Documents that share nothing are at 0, and those without words at infinity.
        """
        found, visited = [], 0
        for part in snapshot.parts:
            size = sizes.of(part)
            try:
                some, seen = lists.bounds(part.rows.lists, self.known, size, 0.0, threads)
                if len(self.others.words):
                    more, also = lists.bounds(part.rows.other_lists, self.others, size, 0.0, threads)
                    some, seen = some + more, seen + also
            except ValueError as error:
                raise damaged_part(part, error) from None
            found.append(some)
            visited += seen
        return np.concatenate(found), visited


def _touched(kind: Shared, words: Int64Array, shares: Float64Array, scale: Float64Array) -> lists.Touched:
    """A product adds up count times weight; of a common mass no more counts than the query has."""
    weights, nothing = scale[words], np.zeros(len(words))
    if kind is Shared.PRODUCT:
        values = (nothing, shares * weights, nothing)
    else:
        values = (2 * weights, nothing, shares / weights)
    return lists.Touched(words.astype(np.int32), *(some.astype(np.float32) for some in values))


class Baselines:
    """Searches by plain counts, or by those times idf; what belongs to documents and not to a query is kept."""

    def __init__(self, embeddings: Embeddings) -> None:
        self._embeddings = embeddings
        self._kept: dict[tuple[Shared, bool], tuple[Any, Scale, Sizes]] = {}

    def top_k(
        self,
        snapshot: Snapshot,
        queries: sp.csr_array,
        k: int,
        record: Distance,
        idf: TfIdf | None,
        mask: BoolArray | None,
        threads: int | None,
        progress: Progress | None,
    ) -> Neighbors:
        """The nearest rows of the snapshot, by (distance, row); ``idf`` is for the distances that weigh words by it."""

        def compare(rows: Int64Array, numbers: Sequence[int]) -> Neighbors:
            some = queries[list(numbers)]
            searcher = Searcher(
                matrix_of(snapshot.bags_of(rows), len(self._embeddings)),
                record,
                embeddings=self._embeddings,
                idf=idf,
                on_empty="keep",
                words=np.unique(some.indices),  # sums go by the numbers of words, whatever documents there are
            )
            return searcher.top_k(some, k, threads=threads).renumbered(rows)

        assert record.shared is not None
        scale, sizes = self._weights(record.shared, idf)
        asked = [_plainly(queries, number) for number in range(queries.shape[0])]
        workers = thread_count(threads)
        return nearest(snapshot, record.shared, asked, scale, sizes, compare, k, mask, workers, progress)

    def _weights(self, kind: Shared, idf: TfIdf | None) -> tuple[Scale, Sizes]:
        """What words weigh, and the sizes of documents by that, as long as it is the same."""
        key = (kind, idf is not None)
        known = self._kept.get(key)
        if known is None or known[0] is not idf:
            scale = Scale(np.ones(len(self._embeddings)) if idf is None else idf.idf, np.zeros(0), 1.0)
            known = self._kept[key] = idf, scale, Sizes(kind, scale, others=False)
        return known[1], known[2]


def _plainly(queries: sp.csr_array, number: int) -> Asked:
    """A row of counts as the words of a query."""
    span = slice(queries.indptr[number], queries.indptr[number + 1])
    order, nothing = np.argsort(queries.indices[span]), np.zeros(0)
    ids, counts = queries.indices[span][order].astype(np.int64), queries.data[span][order].astype(np.float64)
    return Asked(ids, counts, nothing.astype(np.int64), nothing, nothing)


def nearest(
    snapshot: Snapshot,
    kind: Shared,
    asked: Sequence[Asked],
    scale: Scale,
    sizes: Sizes,
    compare: Compare,
    k: int,
    mask: BoolArray | None,
    threads: int,
    progress: Progress | None,
) -> Neighbors:
    """The k nearest rows of the snapshot that the mask allows to each query, by (distance, row)."""
    sizes.forget(snapshot.parts)
    allowed = len(snapshot.numbers) if mask is None else int(np.count_nonzero(mask))
    counts = {"pairs": allowed * len(asked), "postings": 0, "evaluated": 0}
    if k >= allowed:
        rows = np.arange(len(snapshot.numbers)) if mask is None else np.flatnonzero(mask)
        return replace(_compared(compare, rows, range(len(asked)), k), counts=counts | {"evaluated": counts["pairs"]})
    found: list[Neighbors] = []
    waiting: list[Int64Array] = []

    def compared() -> None:
        """Compare the queries that wait with each other's candidates: documents are prepared once for all of them."""
        if waiting:
            first = len(found)
            numbers = range(first, first + len(waiting))
            rows = waiting[0] if len(waiting) == 1 else np.unique(np.concatenate(waiting))
            counts["evaluated"] += len(rows) * len(waiting)
            found.extend(_one_by_one(_compared(compare, rows, numbers, k)))
            waiting.clear()

    for number, one in enumerate(asked):
        check_cancelled()
        if not one.words:
            compared()
            found.append(nearest_to_nothing(snapshot, k, mask))
            continue
        rows, visited = _candidates(snapshot, SharedQuery.of(kind, one, scale), sizes, k, mask, threads)
        counts["postings"] += visited
        if sum(map(len, waiting)) + len(rows) > _TOGETHER:
            compared()
        waiting.append(rows)
        if progress is not None:
            progress(number + 1, len(asked))
    compared()
    return replace(stacked(found), counts=counts)


def _compared(compare: Compare, rows: Int64Array, numbers: Sequence[int], k: int) -> Neighbors:
    """The nearest of some rows, a block of them at a time."""
    blocks = []
    for start in range(0, len(rows), _ROWS):
        check_cancelled()
        blocks.append(compare(rows[start : start + _ROWS], numbers))
    return Neighbors.merge(blocks, k)


def _one_by_one(near: Neighbors) -> list[Neighbors]:
    """The answers to several queries, each by itself."""
    pairs = zip(near.indices, near.distances, strict=True)
    return [Neighbors(indices[None, :], distances[None, :]) for indices, distances in pairs]


def _candidates(
    snapshot: Snapshot,
    query: SharedQuery,
    sizes: Sizes,
    k: int,
    mask: BoolArray | None,
    threads: int,
) -> tuple[Int64Array, int]:
    """The rows that can be among the k nearest, rising, and how many entries of lists were visited."""
    if not query.sound:
        return np.arange(len(snapshot.numbers)) if mask is None else np.flatnonzero(mask), 0
    values, visited = query.shared(snapshot, sizes, threads)
    heap = passes.Heaps(1, k)
    heap.offer(slice(0, 1), values[None, :], 0, mask, threads)
    first = heap.finish(threads)
    last = float(first.distances[0, -1])
    if np.isinf(last):  # all documents with words are among them
        return np.sort(first.indices[0]), visited
    # The k-th of these is no further away than the slack says, and what is as near is no less so than it says.
    close = values <= np.float32(last + 2 * query.slack)
    if mask is not None:
        close &= mask
    rows = np.flatnonzero(close)
    apart = values[rows] < 0
    return rows if apart.all() else np.sort(np.concatenate([rows[apart], rows[~apart][:k]])), visited

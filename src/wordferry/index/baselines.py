"""Cosine and L1 over inverted lists: only the words that a document shares with the query make a difference.

The lists of the query's own words give, for every document, the product with the query or the mass that both have in
common, up to rounding. Documents that cannot be told from the k-th by that are compared as everywhere else, so that the
answer is that of comparing with every document, bit by bit. All documents that share nothing with the query are equally
far away, so that of those the first k will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wordferry.base.arrays import BoolArray, Float32Array, Float64Array, Int64Array, Neighbors
from wordferry.base.cancel import check_cancelled
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import Progress
from wordferry.compare.problem import Distance, Shared
from wordferry.compare.search import Searcher
from wordferry.index.bounded import summed
from wordferry.index.nearest import nearest_to_nothing, stacked
from wordferry.index.scale import Asked, Scale
from wordferry.index.snapshot import Part, Snapshot, damaged_among
from wordferry.index.weighed_lists import side_by_side
from wordferry.kernels import passes
from wordferry.kernels import related_lists as lists
from wordferry.texts.bow import TfIdf
from wordferry.texts.weights import Weighting

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


class Weights:
    """What words weigh, and what documents are divided by for that: 4 bytes for each."""

    def __init__(self, weighting: Weighting | None, scale: Scale, *, others: bool) -> None:
        self.weighting, self.scale, self.others = weighting, scale, others
        self._sizes: dict[tuple[Shared, Any], Float32Array] = {}

    def sizes(self, kind: Shared, part: Part) -> Float32Array:
        """The length of each document of a part, or the sum of its weights; made when first asked for."""
        found = self._sizes.get((kind, part.key))
        if found is None:
            found = self._sizes[kind, part.key] = self._made(kind, part)
        return found

    def _made(self, kind: Shared, part: Part) -> Float32Array:
        if kind is Shared.PRODUCT:
            return np.sqrt(self.scale.sums(part, others=self.others, squared=True)).astype(np.float32)
        if self.scale.uniform and not self.others:
            return part.rows.totals
        return self.scale.sums(part, others=self.others).astype(np.float32)

    def forget(self, parts: Sequence[Part]) -> None:
        """Let go of parts that are not among these."""
        present = {part.key for part in parts}
        for kind, key in list(self._sizes):
            if key not in present:
                self._sizes.pop((kind, key), None)


@dataclass(frozen=True, eq=False)
class SharedQuery:
    """The words of a query as the lists take them."""

    kind: Shared
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
        own = scale.asked(asked)
        weights = np.concatenate(own)
        whole = float(np.sqrt((weights**2).sum()) if kind is Shared.PRODUCT else weights.sum())
        rest = 1.0 if kind is Shared.PRODUCT else 2.0
        used = np.concatenate([scale.known[asked.ids], scale.others[asked.others]])
        low, high = _SCALES
        return cls(
            kind,
            _touched(kind, asked.ids, own.known / whole, scale.known),
            _touched(kind, asked.others, own.others / whole, scale.others),
            rest,
            rest * _ROUNDING * (len(weights) + 32),
            bool((weights > _LIGHTEST * whole).all() and (used > low).all() and (used < high).all()),
        )

    def shared(self, snapshot: Snapshot, weights: Weights, threads: int) -> tuple[Float32Array, int]:
        """Less the share that the query and each document have in common, and how many entries were visited.

        Documents that share nothing are at 0, and those without words at infinity.
        """
        return summed(
            snapshot.parts,
            self.known,
            self.others,
            lambda part: weights.sizes(self.kind, part),
            0.0,
            threads,
            lambda part: weights.scale.repeats(part, others=weights.others),
        )


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

    def __init__(self, known: int) -> None:
        self._known = known
        self._counts = Weights(None, Scale.of(None, known, 0), others=False)
        self._idf: tuple[TfIdf, Weights] | None = None

    def weights(self, idf: TfIdf | None) -> Weights:
        """What words weigh; the same object as long as they weigh the same."""
        if idf is None:
            return self._counts
        kept = self._idf
        if kept is None or kept[0] is not idf:
            weighting = Weighting("idf", idf.idf, float(np.log(1 + idf.documents) + 1), idf.documents)
            kept = self._idf = idf, Weights(weighting, Scale.of(weighting, self._known, 0), others=False)
        return kept[1]


def asked_of(ids: Int64Array, counts: Float64Array) -> Asked:
    """A query of words that all have vectors."""
    nothing = np.zeros(0)
    return Asked(ids, counts, nothing.astype(np.int64), nothing, nothing)


class _Comparison:
    """Compares queries with documents as everywhere else, with one column for each word that the index has numbered.

    Words that only queries have come behind. Sums therefore go by the numbers of words, whatever documents there are.
    """

    def __init__(
        self, snapshot: Snapshot, record: Distance, weights: Weights, asked: Sequence[Asked], k: int, threads: int
    ) -> None:
        self._snapshot, self._record, self._weights = snapshot, record, weights
        self._k, self._threads = k, threads
        known, others = len(weights.scale.known), len(weights.scale.others)
        new = max((len(one.new_counts) for one in asked), default=0)
        self._first_other, self._columns = known, known + others + new
        words = [
            np.concatenate([one.ids, known + one.others, known + others + np.arange(len(one.new_counts))])
            for one in asked
        ]
        counts = [np.concatenate([one.counts, one.other_counts, one.new_counts]) for one in asked]
        indptr = np.cumsum([0, *map(len, words)])
        values = (np.concatenate(counts), np.concatenate(words), indptr)
        self._queries = sp.csr_array(values, shape=(len(asked), self._columns))

    def nearest(self, rows: Int64Array, numbers: range) -> Neighbors:
        """The nearest of some rows, which rise, to some of the queries; worked through a block of rows at a time."""
        some, blocks = self._queries[numbers.start : numbers.stop], []
        for start in range(0, len(rows), _ROWS):
            check_cancelled()
            block = rows[start : start + _ROWS]
            near = self._searcher(block).top_k(some, self._k, threads=self._threads)
            blocks.append(near.renumbered(block))
        return Neighbors.merge(blocks, self._k)

    def _searcher(self, rows: Int64Array) -> Searcher:
        """Some documents, prepared."""
        try:
            bags = self._snapshot.bags_of(rows)
            kinds = [(bags.indptr, bags.words, bags.counts)]
            if self._weights.others:
                others = bags.others
                kinds.append((others.indptr, others.words.astype(np.int64) + self._first_other, others.counts))
            indptr, columns, counts = side_by_side(kinds)
            matrix = sp.csr_array((counts, columns, indptr), shape=(len(rows), self._columns), dtype=np.float64)
            weights = self._weights.weighting or "counts"
            return Searcher(matrix, self._record, weights=weights, on_empty="keep")
        except (IndexError, ValueError) as error:
            raise damaged_among(self._snapshot.parts, error) from None


def nearest(
    snapshot: Snapshot,
    record: Distance,
    weights: Weights,
    asked: Sequence[Asked],
    k: int,
    mask: BoolArray | None,
    threads: int,
    progress: Progress | None,
) -> Neighbors:
    """The k nearest rows of the snapshot that the mask allows to each query, by (distance, row)."""
    assert record.shared is not None
    weights.forget(snapshot.parts)
    comparison = _Comparison(snapshot, record, weights, asked, k, threads)
    allowed = len(snapshot.numbers) if mask is None else int(np.count_nonzero(mask))
    counts = {"pairs": allowed * len(asked), "postings": 0, "evaluated": 0}
    if k >= allowed:
        near = comparison.nearest(_rows(snapshot, mask), range(len(asked)))
        if progress is not None:
            progress(len(asked), len(asked))
        return replace(near, counts=counts | {"evaluated": counts["pairs"]})
    found: list[Neighbors] = []
    waiting: list[Int64Array] = []

    def compared() -> None:
        """Compare the queries that wait with each other's candidates: documents are prepared once for all of them."""
        if waiting:
            first = sum(map(len, found))
            numbers = range(first, first + len(waiting))
            rows = waiting[0] if len(waiting) == 1 else np.unique(np.concatenate(waiting))
            counts["evaluated"] += len(rows) * len(waiting)
            found.append(comparison.nearest(rows, numbers))
            waiting.clear()

    for number, one in enumerate(asked):
        check_cancelled()
        if one.words:
            query = SharedQuery.of(record.shared, one, weights.scale)
            rows, visited = _candidates(snapshot, query, weights, k, mask, threads)
            counts["postings"] += visited
            if sum(map(len, waiting)) + len(rows) > _TOGETHER:
                compared()
            waiting.append(rows)
        else:
            compared()
            found.append(nearest_to_nothing(snapshot, k, mask))
        if progress is not None:
            progress(number + 1, len(asked))
    compared()
    return replace(stacked(found), counts=counts)


def _candidates(
    snapshot: Snapshot,
    query: SharedQuery,
    weights: Weights,
    k: int,
    mask: BoolArray | None,
    threads: int,
) -> tuple[Int64Array, int]:
    """The rows that can be among the k nearest, rising, and how many entries of lists were visited."""
    if not query.sound:
        return _rows(snapshot, mask), 0
    values, visited = query.shared(snapshot, weights, threads)
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


def _rows(snapshot: Snapshot, mask: BoolArray | None) -> Int64Array:
    """All rows that the mask allows."""
    return np.arange(len(snapshot.numbers)) if mask is None else np.flatnonzero(mask)

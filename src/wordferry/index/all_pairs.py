"""All documents against all, without the full matrix: near-duplicates and the k-nearest-neighbour graph.

Near pairs are found by a join: documents that are close share words, and enough of them can be told from the rarer
ones, whose lists are short.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from wordferry.base.arrays import Csr, Float32Array, Float64Array, Int64Array, Neighbors
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import Progress, check_cancelled, thread_count
from wordferry.compare.measure import Measure
from wordferry.compare.nearest import nearest
from wordferry.compare.plan import fill
from wordferry.compare.problem import Problem
from wordferry.encoders.codes import Codes
from wordferry.encoders.encoder import text_of
from wordferry.encoders.given import rows_of
from wordferry.errors import InputError
from wordferry.index.duplicates import Duplicates, Pair, PairWords, written
from wordferry.index.local import LocalIndex
from wordferry.index.search import memory, similar
from wordferry.index.search.memory import Prepared
from wordferry.index.search.requests import Request
from wordferry.index.search.views import View
from wordferry.index.search.weights import words_of_row
from wordferry.index.write.entries import Entry
from wordferry.texts.bow import looked_up
from wordferry.texts.tokenizers import words_of

if TYPE_CHECKING:
    from wordferry.index.backend import Backend

BLOCK_VALUES = 1 << 24
"""Distances held at once: 64 MB."""
_TOGETHER = 64
"""Documents of pairs whose distances are computed at once."""
_ROUNDING = 1e-4
"""How far a bound in float32 may lie above the value it bounds, relative to the threshold or to 1."""


def close_pairs(
    whole: Problem, threshold: float, progress: Progress | None
) -> Iterator[tuple[Int64Array, Int64Array, Float32Array]]:
    """All pairs (i < j) of documents that are compared with each other, at most the threshold apart, block by block.

    Where words that are not shared must move, only pairs are computed that share enough; else, where there is a cheaper
    distance that never exceeds this one, only pairs that pass it.
    """
    least = whole.distance.least_moves(whole) if whole.side == "both" and len(whole.y) == whole.y.passed else None
    if least is not None:
        join = Join.of(whole.y.masses, least, loosened(threshold))
        if join.pays:
            yield from _joined(whole, join, threshold, progress)
            return
    yield from _all_pairs(whole, threshold, progress)


def _joined(
    whole: Problem, join: Join, threshold: float, progress: Progress | None
) -> Iterator[tuple[Int64Array, Int64Array, Float32Array]]:
    """The close pairs among those that a join finds, and among documents that need share nothing."""
    loose, total = join.loose, whole.shape[0]
    i, j = np.triu_indices(len(loose), 1)
    first = [(0, (loose[i], loose[j]))] if len(i) else []
    for done, (i, j) in chain(first, join.blocks()):
        near = _values(whole, i, j, threshold)
        kept = near <= threshold
        yield i[kept], j[kept], near[kept]
        if progress is not None:
            progress(done, total)


def _values(whole: Problem, i: Int64Array, j: Int64Array, threshold: float) -> Float32Array:
    """Distances of pairs; infinite where a cheaper distance already is above the threshold."""
    bounds = whole.distance.bounds(whole.overlap, whole.frame.unknown is not None)
    if not bounds:
        return _grouped(whole, i, j)
    out = np.full(len(i), np.inf, dtype=np.float32)
    passed = np.flatnonzero(_grouped(whole.by(*bounds[0]), i, j) <= loosened(threshold))
    out[passed] = _chosen(whole, i[passed], j[passed])
    return out


def _grouped(whole: Problem, i: Int64Array, j: Int64Array) -> Float32Array:
    """Distances of the pairs (i, j), given with i ascending: some documents at a time against all of their partners."""
    out = np.empty(len(i), dtype=np.float32)
    starts = np.unique(i, return_index=True)[1]
    for low, high in pairwise([*starts[::_TOGETHER], len(i)]):
        rows, place = np.unique(i[low:high], return_inverse=True)
        columns, other = np.unique(j[low:high], return_inverse=True)
        part = replace(whole, x=whole.y.take(rows), y=whole.y.take(columns))
        out[low:high] = fill(part, np.empty(part.shape, dtype=np.float32))[place, other]
    return out


def _all_pairs(
    whole: Problem, threshold: float, progress: Progress | None
) -> Iterator[tuple[Int64Array, Int64Array, Float32Array]]:
    """The close pairs, by comparing all documents with each other."""
    total, start = whole.shape[0], 0
    while start < total:
        stop = min(total, start + max(1, BLOCK_VALUES // max(1, total - start)))
        block = whole.part(slice(start, stop), slice(start, total))
        bounds = block.distance.bounds(block.overlap, block.frame.unknown is not None)
        first = block.by(*bounds[0]) if bounds else block
        values = fill(first, np.empty(block.shape, dtype=np.float32))
        i, j = np.nonzero(values <= (loosened(threshold) if bounds else threshold))
        i, j = i[j > i], j[j > i]
        near = _chosen(block, i, j) if bounds else values[i, j]
        kept = near <= threshold
        yield i[kept] + start, j[kept] + start, near[kept]
        start = stop
        if progress is not None:
            progress(start, total)


def loosened(threshold: float) -> float:
    """A threshold that no bound of a value below the true one can fail through rounding."""
    return threshold + _ROUNDING * max(1.0, abs(threshold))


def _chosen(block: Problem, i: Int64Array, j: Int64Array) -> Float32Array:
    """Distances of the pairs (i, j) of a problem, given with i ascending; each row has a problem of its own."""
    out = np.empty(len(i), dtype=np.float32)
    rows, starts = np.unique(i, return_index=True)
    for row, (low, high) in zip(rows.tolist(), pairwise([*starts, len(i)]), strict=True):
        part = replace(block, x=block.x.slice(row, row + 1), y=block.y.take(j[low:high]))
        out[low:high] = fill(part, np.empty(part.shape, dtype=np.float32))[0]
    return out


_MANY = 1 << 17
"""From this many documents on the graph is made through the lists: comparing all with all costs more."""
_BATCH = 1024


def _local(backend: Backend) -> LocalIndex:
    assert isinstance(backend, LocalIndex)
    return backend


def duplicates(
    backend: Backend,
    threshold: float,
    measure: Measure,
    how: tuple[int | None, Progress | None],
    meaning: float | None = None,
) -> Duplicates:
    """All pairs of documents at most ``threshold`` apart, and at most ``meaning`` by 1 - cosine where that is given.

    Pairs and texts are of one state; ``how`` are threads and progress.
    """
    index, (threads, progress) = _local(backend), how
    with index.state() as (connection, snapshot):
        if snapshot.documents < 2:
            return Duplicates(threshold=threshold)
        view, live = index.views.get(snapshot, measure), snapshot.live_rows()
        whole = memory.whole(view, measure.distance, measure.overlap).among_themselves(threads)
        blocks = list(close_pairs(whole, threshold, progress))
        i, j, near = (np.concatenate([[], *(block[column] for block in blocks)]) for column in range(3))
        i, j = live[i.astype(np.int64)], live[j.astype(np.int64)]
        if meaning is not None:
            rows = np.unique(np.concatenate([i, j]))
            cosines = snapshot.codes_of(rows).between(np.searchsorted(rows, i), np.searchsorted(rows, j))
            kept = 1.0 - cosines <= meaning
            i, j, near = i[kept], j[kept], near[kept]
        found = snapshot.read(connection, [*i.tolist(), *j.tolist()], index.path)
    texts = {one.id: one.text for one in found.values()}
    order = {found[row].id: row for row in sorted(found)}
    words = PairWords(index.tokenizer)
    judged = []
    for place in np.lexsort((j, i)).tolist():
        first, second = found[int(i[place])], found[int(j[place])]
        judged.append(words.judged(Pair(first.id, second.id, float(near[place])), first.text, second.text))
    return Duplicates(
        sorted((pair for pair in judged if pair.distance <= threshold), key=lambda pair: pair.distance),
        threshold=threshold,
        order=order,
        words=lambda pair: words.both(texts[pair.first], texts[pair.second]),
        text=lambda id: written(texts[id]),
    )


def leakage(
    backend: Backend,
    given: Sequence[Entry],
    threshold: float,
    measure: Measure,
    how: tuple[int | None, Progress | None],
    meaning: float | None = None,
) -> Duplicates:
    """Pairs of a document of the index and one of those given; ``how`` are threads and progress.

    With ``meaning`` they are at most as far apart by 1 - cosine, too.
    """
    index = _local(backend)
    names = [one.id or f"document {number}" for number, one in enumerate(given)]
    tokens = [words_of(one.words, index.tokenizer) for one in given]
    found: list[tuple[int, int, float]] = []
    with index.state() as (connection, snapshot):
        if snapshot.documents and given:
            view, live = index.views.get(snapshot, measure), snapshot.live_rows()
            prepared = memory.whole(view, measure.distance, measure.overlap)
            theirs = [view.words(connection, looked_up(some, view.embeddings.vocabulary)) for some in tokens]
            found = [(int(live[i]), j, d) for i, j, d in _pairs_between(prepared, theirs, threshold, how)]
        rows = np.unique([i for i, _, _ in found]).astype(np.int64)
        if meaning is not None and found:
            codes = Codes.join([snapshot.codes_of(rows), Codes.of(_vectors(index, given))])
            places = np.searchsorted(rows, [i for i, _, _ in found]), len(rows) + np.array([j for _, j, _ in found])
            kept = 1.0 - codes.between(*places) <= meaning
            found = [one for one, wanted in zip(found, kept.tolist(), strict=True) if wanted]
        own = snapshot.read(connection, rows.tolist(), index.path)
    texts = {one.id: one.text for one in own.values()}
    others = dict(zip(names, (one.words for one in given), strict=True))
    words = PairWords(index.tokenizer)
    pairs = []
    for row, j, distance in found:
        one = own[row]
        pairs.append(words.judged(Pair(one.id, names[j], distance), one.text, others[names[j]]))
    pairs = [pair for pair in pairs if pair.distance <= threshold]
    pairs.sort(key=lambda pair: (pair.distance, pair.first, pair.second))
    return Duplicates(
        pairs,
        threshold=threshold,
        words=lambda pair: words.both(texts[pair.first], others[pair.second]),
        text=lambda id: written(texts[id] if id in texts else others[id]),
    )


def _vectors(index: LocalIndex, given: Sequence[Entry]) -> Float32Array:
    """The vectors of documents: those they have, or what the index's encoder makes of their texts."""
    if all(one.vector is not None for one in given):
        return rows_of([one.vector for one in given], len(given), index.dimension)
    encoder = index.encoder()
    if encoder is None:
        raise InputError(
            f"meaning= compares vectors, and {index.path} has no encoder to make those of the documents given. Bring "
            "them (vectors=), or open the index with an encoder=."
        )
    return encoder.encode([text_of(one.words) for one in given])


def _pairs_between(
    prepared: Prepared, theirs: Sequence[Any], threshold: float, how: tuple[int | None, Progress | None]
) -> Iterator[tuple[int, int, float]]:
    """All (document of the collection, one of those given, distance) of at most the threshold, block by block."""
    threads, progress = how
    step = max(1, BLOCK_VALUES // max(1, len(prepared)))
    for start in range(0, len(theirs), step):
        problem = prepared.problem(theirs[start : start + step], threads)
        values = fill(problem, np.empty(problem.shape, dtype=np.float32))
        for j, i in np.argwhere(values <= threshold).tolist():
            yield i, j + start, float(values[j, i])
        if progress is not None:
            progress(min(start + step, len(theirs)), len(theirs))


def knn_graph(
    backend: Backend, k: int, measure: Measure, threads: int | None, progress: Progress | None
) -> sp.csr_array:
    """The k nearest others of each document, as a CSR matrix of distances (zeros between equal ones are stored).

    A document without words is infinitely far from others, which is not stored.
    """
    index = _local(backend)
    with index.state() as (_, snapshot):
        total = snapshot.documents
        if not total:
            return sp.csr_array((0, 0), dtype="float32")
        view, live = index.views.get(snapshot, measure), snapshot.live_rows()
        k = min(k, total - 1)
        indices, distances = np.empty((total, k), dtype=np.int64), np.empty((total, k), dtype=np.float32)
        whole = None
        if total < _MANY:
            whole = memory.whole(view, measure.distance, measure.overlap).among_themselves(threads)
        for start in range(0, total if k > 0 else 0, _BATCH):
            span = slice(start, min(total, start + _BATCH))
            if whole is not None:
                near = nearest(whole.part(span, slice(0, total)), k + 1).without_self(start)
            else:
                near = _through_lists(view, live, span, (measure, k + 1, threads))
            indices[span], distances[span] = near.indices, near.distances
            if progress is not None:
                progress(span.stop, total)
    reached = np.isfinite(distances)
    indptr = np.append(0, np.cumsum(reached.sum(axis=1, dtype=np.int64)))
    return sp.csr_array((distances[reached], indices[reached], indptr), shape=(total, total))


def _through_lists(view: View, live: Int64Array, span: slice, how: tuple[Measure, int, int | None]) -> Neighbors:
    """The nearest others of some living documents, as places among the living ones, by asking as a search does."""
    measure, k, threads = how
    bags, vectors = memory.documents_of(view, live[span]), view.snapshot.terms.row_of
    queries = [words_of_row(bags, row, vectors) for row in range(span.stop - span.start)]
    request = Request(measure.distance, measure.overlap, k, view.snapshot.alive, thread_count(threads))
    near = similar.nearest(view, queries, request)
    places = np.where(near.indices >= 0, np.searchsorted(live, near.indices), -1)
    return replace(near, indices=places).without_self(span.start)


_LONGER = 0.8
"""Lists go on until this share of what must be common is left: more words to look up, far fewer pairs to look at."""
_PRODUCTS = 2 << 20
"""Products of one block."""
_PAIRS = 1 << 16
_WORTH = 8
"""Pairs that a comparison of all with all does in the time of one product here."""

Pairs = tuple[Int64Array, Int64Array]


@dataclass(frozen=True)
class Join:
    """Documents prepared for finding pairs."""

    threshold: float
    worth: sp.csr_array
    """Mass times least cost of each word, rarest words first."""
    total: Float64Array
    head: sp.csr_array
    """Square roots of the same, of the rarer words of each document."""
    rest: Float64Array
    """What its other words sum to."""

    @classmethod
    def of(cls, masses: Csr, least: Float64Array, threshold: float) -> Join:
        """From the documents' masses, and what a unit of each word costs at least when it moves."""
        frequencies = np.bincount(masses.indices, minlength=len(least))
        rank = np.empty(len(least), dtype=np.int32)
        rank[np.argsort(frequencies, kind="stable")] = np.arange(len(least), dtype=np.int32)
        values = masses.data * least[masses.indices]
        worth = sp.csr_array((values, rank[masses.indices], masses.indptr), shape=masses.shape)
        worth.sort_indices()
        before = np.concatenate(([0.0], np.cumsum(worth.data)))
        ends = before[worth.indptr[1:]]
        total = ends - before[worth.indptr[:-1]]
        row = np.repeat(np.arange(masses.shape[0]), np.diff(worth.indptr))
        # A word is needed while it and the more frequent ones could make up what must be common.
        kept = ends[row] - before[:-1] >= _LONGER * (total - threshold)[row]
        sizes = np.bincount(row[kept], minlength=masses.shape[0])
        indptr = np.concatenate(([0], np.cumsum(sizes)))
        head = sp.csr_array((np.sqrt(worth.data[kept]), worth.indices[kept], indptr), shape=masses.shape)
        used = np.bincount(row[kept], weights=worth.data[kept], minlength=masses.shape[0])
        return cls(threshold, worth, total, head, total - used)

    @property
    def loose(self) -> Int64Array:
        """Documents that may be close to others of these without a common word."""
        return np.flatnonzero(self.total <= self.threshold)

    @property
    def products(self) -> Int64Array:
        """How many products each document takes part in."""
        frequencies = np.bincount(self.head.indices, minlength=self.head.shape[1])
        sums = np.concatenate(([0], np.cumsum(frequencies[self.head.indices])))
        result: Int64Array = np.diff(sums[self.head.indptr])
        return result

    @property
    def pays(self) -> bool:
        """Whether this is less work than comparing all documents with each other."""
        count = len(self.total)
        return bool(_WORTH * float(self.products.sum()) + float(len(self.loose)) ** 2 < count * count / 2)

    def blocks(self) -> Iterator[tuple[int, Pairs]]:
        """Pairs (i < j) that may be close, by ascending i, each block with how many documents are done."""
        turned = sp.csr_array(self.head.T)
        loose = self.total <= self.threshold
        ends = np.cumsum(self.products)
        start = 0
        while start < len(ends):
            check_cancelled()
            before = ends[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + _PRODUCTS, side="right")))
            common = sp.coo_array(self.head[start:stop] @ turned)
            rows, columns = common.coords
            i, j = rows.astype(np.int64) + start, columns.astype(np.int64)
            # What lies behind the shorter head of the two cannot be more than what one of them has there.
            needed = np.maximum(self.total[i], self.total[j]) - self.threshold
            together = loose[i] & loose[j]  # these are compared in any case
            kept = (j > i) & ~together & (common.data + np.maximum(self.rest[i], self.rest[j]) >= needed)
            yield stop, self._sharing(i[kept], j[kept])
            start = stop

    def _sharing(self, i: Int64Array, j: Int64Array) -> Pairs:
        """The pairs that share enough over all of their words, in order."""
        common = np.zeros(len(i))
        for start in range(0, len(i), _PAIRS):
            some = slice(start, start + _PAIRS)
            common[some] = self.worth[i[some]].minimum(self.worth[j[some]]).sum(axis=1)
        kept = np.flatnonzero(np.maximum(self.total[i], self.total[j]) - common <= self.threshold)
        kept = kept[np.lexsort((j[kept], i[kept]))]
        return i[kept], j[kept]

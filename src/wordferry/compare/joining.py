"""All close pairs of one collection: by a join over words, or by comparing all documents with each other.

Documents that are close share words, and enough of them can be told from the rarer ones, whose lists are short.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise

import numpy as np

from wordferry.base.arrays import Csr, Float32Array, Float64Array, Int64Array
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import check_cancelled
from wordferry.compare.nearest import chosen_values, loosened, within
from wordferry.compare.problem import Problem, fill

_TOGETHER = 64
"""Documents of pairs whose distances are computed at once."""
_LONGER = 0.8
"""Lists go on until this share of what must be common is left: more words to look up, far fewer pairs to look at."""
_PRODUCTS = 2 << 20
"""Products of one block."""
_PAIRS = 1 << 16
_WORTH = 8
"""Pairs that a comparison of all with all does in the time of one product here."""

Pairs = tuple[Int64Array, Int64Array]


def close_pairs(whole: Problem, threshold: float) -> Iterator[tuple[Int64Array, Int64Array, Float32Array]]:
    """All pairs (i < j) of documents that are compared with each other, at most the threshold apart, block by block.

    Where words that are not shared must move, only pairs are computed that share enough.
    """
    least = whole.distance.least_moves(whole) if whole.side == "both" and len(whole.y) == whole.y.passed else None
    if least is not None:
        join = Join.of(whole.y.masses, least, loosened(threshold))
        if join.pays:
            yield from joined(whole, join, threshold)
            return
    yield from within(whole, threshold, rising=True)


def joined(whole: Problem, join: Join, threshold: float) -> Iterator[tuple[Int64Array, Int64Array, Float32Array]]:
    """The close pairs among those that a join finds, and among documents that need share nothing."""
    loose, total = join.loose, whole.shape[0]
    i, j = np.triu_indices(len(loose), 1)
    first = [(0, (loose[i], loose[j]))] if len(i) else []
    tell = whole.run.progress
    for done, (i, j) in chain(first, join.blocks()):
        near = _values(whole, i, j, threshold)
        kept = near <= threshold
        yield i[kept], j[kept], near[kept]
        if callable(tell):
            tell(done, total)


def _values(whole: Problem, i: Int64Array, j: Int64Array, threshold: float) -> Float32Array:
    """Distances of pairs; infinite where a cheaper distance already is above the threshold."""
    bounds = whole.distance.bounds(whole.overlap, whole.frame.unknown is not None)
    if not bounds:
        return _grouped(whole, i, j)
    out = np.full(len(i), np.inf, dtype=np.float32)
    passed = np.flatnonzero(_grouped(whole.by(*bounds[0]), i, j) <= loosened(threshold))
    out[passed] = chosen_values(whole, i[passed], j[passed])
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

"""Distances of words and of centroids on the device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordferry.base.arrays import Csr, Float32Array, Float64Array, Int64Array
from wordferry.device.launch import runtime
from wordferry.device.panels import MovingPanel, PanelSide, PanelTable, PanelTarget, Pass, entry

_COLUMNS = 128
"""Moving words whose distances to all words of a side are in the cache while documents take their minima."""
_DOCUMENTS = 8
"""Documents that a block takes minima of."""
_NEAR = 1e-9
"""Below this share of the squared lengths, a squared distance of centroids is computed from the difference."""
_PACKED = 2**23 - 1
_NO_COST = 1e30
"""Onto no word, as in ``cuda/lanes.cuh``."""


@dataclass(frozen=True, eq=False)
class Vectors:
    """Word vectors on the device, with their squared lengths."""

    values: Any
    squares: Any

    @classmethod
    def of(cls, vectors: Float32Array, squares: Float32Array) -> Vectors:
        """Vectors put on the device."""
        device = runtime()
        return cls(device.put(vectors), device.put(squares))

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def costs(self, others: Vectors, out: Any) -> None:
        """``out[i, j]``: the distance of vector i to vector j of the others, with the bits of the CPU."""
        rows, columns = len(self), len(others)
        if rows and columns:
            runtime().launch(
                "word_costs", -(-rows // 32) * -(-columns // 32), 32, 8 * 32 * 36, self.values, self.squares, rows,
                others.values, others.squares, columns, int(self.values.shape[1]), out, int(out.shape[1]),
            )  # fmt: skip

    def costs_by_products(self, others: Vectors, own: Any, out: Any) -> None:
        """Distances as :meth:`costs` fills them, but from a matrix product: off by a few parts in ten million.

        ``own`` is the vector here of each of the others that is of the same word, which is far away from itself.
        """
        rows, columns = len(self), len(others)
        if rows and columns:
            products = self.values @ others.values.T
            runtime().launch(
                "product_costs", -(-rows // 8), 256, 0, products, self.values, self.squares, rows, others.values,
                others.squares, own, columns, int(self.values.shape[1]), out, int(out.shape[1]),
            )  # fmt: skip

    def part(self, some: slice) -> Vectors:
        """Some of the vectors."""
        return Vectors(self.values[some], self.squares[some])


@dataclass(frozen=True, eq=False)
class DeviceWords:
    """The words of one side that distances are computed between: those with a vector come first."""

    vectors: Vectors
    ids: Any
    """Compact ids of the words that have a vector,"""
    number_of: Any
    """and the vector of each compact id; -1 where there is none."""
    indptr: Any
    """Documents in the order in which the CPU adds up their words:"""
    words: Any
    """compact ids,"""
    masses: Any
    """masses,"""
    numbers: Any
    """and vectors."""

    @classmethod
    def of(cls, vectors: Vectors, words: Int64Array, bags: Csr, size: int) -> DeviceWords:
        """From documents over ``words``, which are compact ids below ``size``, those with a vector first."""
        device, known = runtime(), len(vectors)
        numbers = np.full(size, -1, dtype=np.int32)
        numbers[words[:known]] = np.arange(known, dtype=np.int32)
        places = device.put(bags.indices.astype(np.int32))
        entries = device.put(words.astype(np.int32))[places]
        number_of = device.put(numbers)
        masses = device.put(bags.data.astype(np.float32))
        indptr = device.put(bags.indptr.astype(np.int64))
        return cls(vectors, device.put(words[:known]), number_of, indptr, entries, masses, number_of[entries])


@dataclass(frozen=True, eq=False)
class VectorCosts:
    """Distances of word vectors; what has no vector is ``far`` from every other word."""

    words: dict[PanelSide, DeviceWords]
    """The words of each side."""
    scale: float
    far: float
    keep: bool
    error: float = 0.0
    wide: bool = False
    one_sum: bool = True

    def table(self, target: PanelTarget, moving: MovingPanel) -> PanelTable:
        device = runtime()
        theirs, ours = self.words[target.side], self.words[moving.side]
        words, own = theirs.number_of[target.side.words], theirs.number_of[ours.ids]
        table = target.empty(len(moving.words), entry(self.far, self.scale, target.wide))
        costs = device.xp.empty((len(theirs.vectors) + 1, _COLUMNS), dtype=np.float32)
        costs[-1] = self.far  # of words without a vector
        for first in range(0, len(ours.vectors), _COLUMNS):
            some = slice(first, min(first + _COLUMNS, len(ours.vectors)))
            theirs.vectors.costs_by_products(ours.vectors.part(some), own[some], costs)
            shared = 4 * _DOCUMENTS * (_COLUMNS + 4)
            device.launch(
                "enter_nearest", -(-target.count // _DOCUMENTS), 32 * _DOCUMENTS, shared, table, target.side.indptr,
                words, costs, len(theirs.vectors), some.stop - first, first, len(moving.words), target.rows.start,
                target.count, _PACKED / max(self.scale, 1e-30), target.wide,
            )  # fmt: skip
        target.enter_own(table, moving, int(self.keep))
        return PanelTable(target, table, len(moving.words))


@dataclass(frozen=True, eq=False)
class VectorPass(Pass):
    """Costs are distances of word vectors."""

    costs: VectorCosts

    def of_pairs(self, rows: Any, columns: Any) -> Any:
        """The values of the CPU of some pairs."""
        device, costs = runtime(), self.costs
        xp, x, y = device.xp, costs.words[self.x.side], costs.words[self.y.side]
        own = x.indptr[rows + 1] - x.indptr[rows]
        lengths = own + y.indptr[columns + 1] - y.indptr[columns]
        ends, chunks = xp.cumsum(lengths), (own + 31) // 32
        room, blocks = int(ends[-1]), xp.cumsum(chunks)
        pairs = xp.searchsorted(blocks, xp.arange(int(blocks[-1])), side="right")
        found = xp.full(room, np.float32(_NO_COST).view(np.uint32), dtype=np.uint32), xp.zeros(room, dtype=np.float32)
        values = xp.empty(len(rows), dtype=np.float32)
        device.launch(
            "nearest_of_pairs", len(pairs), 32, 8 * 32 * 36, rows, columns, ends - lengths,
            x.indptr, x.words, x.masses, x.numbers, x.vectors.values, x.vectors.squares,
            y.indptr, y.words, y.masses, y.numbers, y.vectors.values, y.vectors.squares,
            int(x.vectors.values.shape[1]), costs.far, *found, pairs, blocks - chunks,
        )  # fmt: skip
        device.launch(
            "sums_of_pairs", -(-len(rows) // 128), 128, 0, rows, columns, len(rows), ends - lengths, x.indptr,
            x.masses, x.numbers, y.indptr, y.masses, y.numbers, costs.far, costs.keep, np.int32(self.side_number),
            *found, values,
        )  # fmt: skip
        return values


@dataclass(frozen=True, eq=False)
class CentroidPass:
    """Distances of centroids in float64, block by block."""

    x: tuple[Any, Any]
    y: tuple[Any, Any]
    error: float
    error_per_word: float = 0.0

    def of_pairs(self, rows: Any, columns: Any) -> Any:
        """None: those of the CPU come from its own products of matrices."""

    @classmethod
    def of(cls, x: tuple[Float64Array, Float64Array], y: tuple[Float64Array, Float64Array]) -> CentroidPass:
        """Centroids and their squared lengths, put on the device."""
        device = runtime()
        longest = max(float(np.sqrt(squares.max(initial=0.0))) for _, squares in (x, y))
        return cls((device.put(x[0]), device.put(x[1])), (device.put(y[0]), device.put(y[1])), 1.2e-7 * longest)

    def blocks(self, room: int) -> Iterator[tuple[slice, slice, Any]]:
        """Rows, columns and values of blocks that need about ``room`` bytes."""
        xp = runtime().xp
        (a, a_squares), (b, b_squares) = self.x, self.y
        step = max(1, int(room // (40 * max(len(b), 1))))
        for start in range(0, len(a), step):
            rows = slice(start, min(start + step, len(a)))
            both = a_squares[rows, None] + b_squares[None, :]
            squared = both - 2 * (a[rows] @ b.T)
            p, q = xp.nonzero(squared < _NEAR * both)
            for low in range(0, len(p), 4096):
                some = slice(low, low + 4096)
                squared[p[some], q[some]] = ((a[start + p[some]] - b[q[some]]) ** 2).sum(axis=1)
            values = xp.ascontiguousarray(xp.sqrt(xp.maximum(squared, 0)).astype(np.float32))
            yield rows, slice(0, len(b)), values

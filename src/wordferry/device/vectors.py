"""Distances of words and of centroids on the device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordferry.base.arrays import Float32Array, Float64Array, Int64Array
from wordferry.device.launch import runtime
from wordferry.device.panels import MovingPanel, PanelSide, PanelTable, PanelTarget, entry

_COLUMNS = 128
"""Moving words whose distances to all words of a side are in the cache while documents take their minima."""
_NEAR = 1e-9
"""Below this share of the squared lengths, a squared distance of centroids is computed from the difference."""
_PACKED = 2**23 - 1


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

    def costs_by_products(self, others: Vectors, out: Any) -> None:
        """Distances as :meth:`costs` fills them, but from a matrix product: off by a few parts in ten million."""
        rows, columns = len(self), len(others)
        if rows and columns:
            products = self.values @ others.values.T
            runtime().launch(
                "product_costs", -(-rows // 8), 256, 0, products, self.values, self.squares, rows, others.values,
                others.squares, columns, int(self.values.shape[1]), out, int(out.shape[1]),
            )  # fmt: skip

    def part(self, some: slice) -> Vectors:
        """Some of the vectors."""
        return Vectors(self.values[some], self.squares[some])


@dataclass(frozen=True, eq=False)
class DeviceWords:
    """The words of one side that distances are computed between: those with a vector come first."""

    vectors: Vectors
    ids: Int64Array
    """Compact ids of all words of the side, those without a vector last."""


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
        size = int(moving.row_of.shape[0])
        rows_of = np.full(size, -1, dtype=np.int32)
        rows_of[theirs.ids[: len(theirs.vectors)]] = np.arange(len(theirs.vectors))
        place_of = device.put(rows_of)
        words = device.put(place_of[target.side.words])
        own = place_of[device.put(ours.ids[: len(ours.vectors)])]
        own = device.xp.where(own < 0, np.int32(-2), own)
        table = target.empty(len(moving.words), entry(self.far, self.scale, target.wide))
        costs = device.xp.empty((max(len(theirs.vectors), 1), _COLUMNS), dtype=np.float32)
        for first in range(0, len(ours.vectors), _COLUMNS):
            count = min(_COLUMNS, len(ours.vectors) - first)
            theirs.vectors.costs_by_products(ours.vectors.part(slice(first, first + count)), costs)
            device.launch(
                "enter_nearest", target.count, _COLUMNS, 0, table, target.side.indptr, words, costs,
                own[first : first + count], count, _COLUMNS, first, len(moving.words), target.rows.start, self.far,
                _PACKED / max(self.scale, 1e-30), target.wide,
            )  # fmt: skip
        target.enter_own(table, moving, int(self.keep))
        return PanelTable(target, table, len(moving.words))


@dataclass(frozen=True, eq=False)
class CentroidPass:
    """Distances of centroids in float64, block by block."""

    x: tuple[Any, Any]
    y: tuple[Any, Any]
    error: float
    error_per_word: float = 0.0

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

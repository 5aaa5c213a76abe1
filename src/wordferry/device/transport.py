"""Exact transport in batches on the device: one warp a problem, a proof for each, and word of what has none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordferry.base.arrays import Csr, Int64Array
from wordferry.device.launch import runtime
from wordferry.device.panels import RelatedCosts

SLOTS = (1, 2, 3, 4, 8, 16, 32)
"""Columns of a lane that kernels are compiled for."""
LARGEST = 32 * SLOTS[-1]
"""Sinks of a problem on the device,"""
MOST_CELLS = 1 << 18
"""and costs of it: a warp would work too long on larger ones, which are for the CPU."""
_BLOCKS = 4096
"""Blocks of a launch whose costs are in device memory."""
_GROWTH = 1.2
"""Problems of one launch whose costs are in shared memory differ by this factor at most."""
_COSTS_BYTES = 24 << 10
"""Costs that take more than this are kept in device memory: a multiprocessor would have too few warps."""


@dataclass(frozen=True, eq=False)
class SolvedPairs:
    """Optima of problems, and bounds on how far each can be from the true one, as arrays of the device.

    A negative bound says that a problem was not solved.
    """

    values: Any
    gaps: Any
    steps: Any

    def proved(self, tolerance: float) -> Any:
        """Which values are at most ``tolerance`` of themselves above the optimum."""
        return (self.gaps >= 0) & (self.gaps <= tolerance * np.abs(self.values)) | (
            (self.values == 0) & (self.gaps == 0)
        )


def shared_bytes(rows: int, columns: int, cells: int) -> int:
    """Shared memory of a problem, as ``place_problem`` lays it out; ``cells`` of it are costs."""

    def padded(size: int) -> int:
        return -(-size // 8) * 8

    arcs = rows + columns + 32
    whole = 16 * rows + 16 * columns + 8 * arcs
    return (
        whole + 2 * padded(4 * rows) + 3 * padded(2 * arcs) + 2 * padded(2 * columns) + 2 * padded(2 * rows) + 4 * cells
    )


@dataclass(frozen=True)
class Launch:
    """Problems of about one size."""

    order: Any
    rows: int
    columns: int
    cells: int

    @property
    def slots(self) -> int:
        return next(slots for slots in SLOTS if 32 * slots >= self.columns)

    @property
    def in_shared(self) -> bool:
        """Whether the costs of a problem are kept in shared memory."""
        return 4 * self.cells <= _COSTS_BYTES

    def blocks(self) -> int:
        return len(self.order) if self.in_shared else min(len(self.order), _BLOCKS)

    def scratch(self) -> Any:
        """Room for the costs of each block in device memory, or None."""
        return None if self.in_shared else runtime().xp.empty(self.blocks() * self.cells, dtype=np.float32)


def launches(rows: Any, columns: Any) -> Iterator[Launch]:
    """Problems, by their sizes on the device, sorted into launches; those that are too large are left out."""
    xp = runtime().xp
    rows, columns = rows.astype(np.int64), columns.astype(np.int64)
    fitting = xp.flatnonzero((columns <= LARGEST) & (rows * columns <= MOST_CELLS) & (rows > 0))
    rows, columns = rows[fitting], columns[fitting]
    cells = rows * columns
    size = xp.ceil(xp.log(xp.maximum(cells, 64)) / np.log(_GROWTH)).astype(np.int64)
    size = xp.where(4 * cells > _COSTS_BYTES, 0, size)  # in device memory one size is as good as another
    kind = size * len(SLOTS) + xp.searchsorted(xp.asarray(32 * np.array(SLOTS)), columns)
    order = xp.argsort(kind * (LARGEST * LARGEST + 1) - cells)  # in a launch the largest come first
    kind = kind[order]
    ends = runtime().get(xp.flatnonzero(kind[1:] != kind[:-1])).tolist()
    for low, high in zip([0, *(end + 1 for end in ends)], [*(end + 1 for end in ends), len(kind)], strict=True):
        some = order[low:high]
        if len(some):
            most = [int(sizes[some].max()) for sizes in (rows, columns, cells)]
            yield Launch(fitting[some], *most)


class SolvedBatch:
    """Where kernels write."""

    def __init__(self, count: int) -> None:
        xp = runtime().xp
        self.values, self.gaps = xp.zeros(count, dtype=np.float64), xp.full(count, -1.0, dtype=np.float64)
        self.steps = xp.zeros(count, dtype=np.int32)

    def solved(self) -> SolvedPairs:
        return SolvedPairs(self.values, self.gaps, self.steps)


@dataclass(frozen=True, eq=False)
class Given:
    """Problems as they are: whole masses and float64 costs, one problem behind the other."""

    row_offsets: Int64Array
    column_offsets: Int64Array
    cost_offsets: Int64Array
    masses_a: Int64Array
    masses_b: Int64Array
    costs: Any

    def solve(self) -> SolvedPairs:
        """Solve all that fit; sources must be no more than sinks."""
        device, results = runtime(), SolvedBatch(len(self.row_offsets) - 1)
        arrays = [
            device.put(array)
            for array in (
                self.row_offsets,
                self.column_offsets,
                self.cost_offsets,
                self.masses_a,
                self.masses_b,
                self.costs,
            )
        ]
        for some in launches(arrays[0][1:] - arrays[0][:-1], arrays[1][1:] - arrays[1][:-1]):
            cells = some.cells if some.in_shared else 0
            device.launch(
                f"solve_given:{some.slots}", some.blocks(), 32, shared_bytes(some.rows, some.columns, cells),
                some.order, len(some.order), some.blocks(), *arrays, some.rows, some.columns, some.cells,
                some.scratch(), results.values, results.gaps, results.steps,
            )  # fmt: skip
        return results.solved()


@dataclass(frozen=True, eq=False)
class WholeSide:
    """Documents with whole weights on the device; words rise in each."""

    indptr: Any
    words: Any
    weights: Any
    sums: Any
    lengths: Any

    @classmethod
    def of(cls, bags: Csr) -> WholeSide:
        """Documents put on the device."""
        device = runtime()
        ends = np.concatenate([[0], np.cumsum(bags.data.astype(np.int64))])
        sums = ends[bags.indptr[1:]] - ends[bags.indptr[:-1]]
        return cls(
            device.put(bags.indptr.astype(np.int64)),
            device.put(bags.indices.astype(np.int32)),
            device.put(bags.data.astype(np.int64)),
            device.put(sums),
            device.put(np.diff(bags.indptr)),
        )


@dataclass(frozen=True, eq=False)
class TableCosts:
    """Distances of words on the device: of a word of x and one of y at ``table[row_of[x], column_of[y]]``."""

    table: Any
    row_of: Any
    column_of: Any


def solve_documents(
    pairs: tuple[Any, Any], x: WholeSide, y: WholeSide, costs: TableCosts | RelatedCosts
) -> SolvedPairs:
    """The distances of pairs of documents; common mass stays where it is unless the costs keep it moving."""
    device, results = runtime(), SolvedBatch(len(pairs[0]))
    places = [device.put(part.astype(np.int32)) for part in pairs]
    lengths = x.lengths[places[0]], y.lengths[places[1]]
    if isinstance(costs, TableCosts):
        known = (costs.table, costs.row_of, costs.column_of, int(costs.table.shape[1]), None, None, None, 0.0, False)
    else:
        known = (None, None, None, 0, costs.indptr, costs.words, costs.costs, costs.scale, costs.keep)
    for some in launches(device.xp.minimum(*lengths), device.xp.maximum(*lengths)):
        cells = some.cells if some.in_shared else 0
        own = 2 * (-(-4 * some.columns // 8) * 8) + 16 * some.columns
        device.launch(
            f"solve_documents:{some.slots}", some.blocks(), 32,
            own + shared_bytes(some.rows, some.columns, cells), *places, some.order, len(some.order),
            some.blocks(), x.indptr, x.words, x.weights, x.sums, y.indptr, y.words, y.weights, y.sums, *known,
            some.rows, some.columns, some.cells, some.scratch(), results.values, results.gaps, results.steps,
        )  # fmt: skip
    return results.solved()

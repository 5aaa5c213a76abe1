"""Transport in batches on the device: one warp a problem; exact, with a proof for each, soft, or by transfers (act)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordferry.base.arrays import Csr, Int64Array
from wordferry.device.launch import runtime
from wordferry.device.panels import RelatedCosts

EXACT, SOFT, TRANSFERS = range(3)
"""What is computed of two documents, as ``Rule`` of ``cuda/batches.cuh`` has it."""
SLOTS = (1, 2, 3, 4, 8, 16, 32)
"""Columns of a lane that kernels are compiled for."""
LARGEST = 32 * SLOTS[-1]
"""Columns of a problem on the device,"""
MOST_ROWS = 2048
"""its rows, which take shared memory,"""
MOST_CELLS = 1 << 18
"""and its costs, of soft transport half as many: a warp would work too long on larger ones, which are for the CPU."""
_WARPS = 2
"""Warps of a block, each with a problem of its own: a multiprocessor takes no more than 32 blocks."""
_PRICED_CELLS = 1 << 20
"""Costs of a problem whose first prices are computed where there are limits: they may show that it is not wanted."""
_BLOCKS, _SCRATCH_BYTES = 2904, 4 << 30
"""Blocks of a launch, as many as a large GPU runs at once, and device memory that those of one stream may take."""
_GROWTH = 1.2
"""Problems of one launch differ by this factor at most in what takes most shared memory: costs, or rows."""
LARGE_CELLS = 1 << 14
"""Problems of no more costs are never left to the CPU."""
_DEVICE_SECONDS, _CPU_SECONDS, _AT_A_TIME = 2.5e-12, 1.6e-7, 2000
"""Seconds of a problem on an H200 for each cell to the power of 1.5, on a core for each to the power of 0.9, and how
much longer a problem takes by itself: estimates, which decide only who does what."""
_COSTS_BYTES = 12 << 10
"""Costs that take more than this are kept in device memory: a multiprocessor would have too few warps."""


@dataclass(frozen=True)
class PairRule:
    """What is computed of two documents."""

    kind: int = EXACT
    keep: bool = False
    """Mass that both have moves like any other; of transfers, all of a word can receive, not only what is left."""
    regularization: float = 0.0
    tolerance: float = 0.0
    count: int = 0
    """Rounds of soft transport, or transfers."""


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

    words = -(-rows // 32)
    whole = 8 * rows + 8 * columns + padded(4 * rows) + padded(4 * columns) + padded(4 * columns * words)
    return whole + padded(4 * words) + padded(2 * columns) + padded(2 * rows) + padded(4 * cells)


@dataclass(frozen=True)
class Launch:
    """Problems of about one size."""

    order: Any
    rows: int
    columns: int
    cells: int
    """Of the costs that are kept; 0 where they are read in place."""

    @property
    def slots(self) -> int:
        return next(slots for slots in SLOTS if 32 * slots >= self.columns)

    @property
    def in_shared(self) -> bool:
        """Whether the costs of a problem are kept in shared memory."""
        return 4 * self.cells <= _COSTS_BYTES

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a warp."""
        return shared_bytes(self.rows, self.columns, self.cells if self.in_shared else 0) if self.cells else 0

    @property
    def scratch_bytes(self) -> int:
        """Device memory of a warp: flows, masses and words of both documents, costs that are not in shared memory."""
        return 8 * self.cells + 24 * self.rows + (0 if self.in_shared else -(-4 * self.cells // 8) * 8)

    def blocks(self, room: int) -> int:
        """Blocks that have ``room`` bytes of device memory together."""
        return max(1, min(-(-len(self.order) // self.warps), _BLOCKS, room // (self.warps * self.scratch_bytes)))

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return _WARPS if _WARPS * self.shared_bytes <= runtime().shared_bytes else 1


def launches(rows: Any, columns: Any, rule: int = EXACT, most: int = MOST_CELLS) -> Iterator[Launch]:
    """Problems, by their sizes on the device, sorted into launches; those of more than ``most`` costs are left out, and
    so are those that no kernel takes."""
    xp = runtime().xp
    rows, columns = rows.astype(np.int64), columns.astype(np.int64)
    fitting = xp.flatnonzero((columns <= LARGEST) & (rows <= MOST_ROWS) & (rows * columns <= most) & (columns > 0))
    rows, columns = rows[fitting], columns[fitting]
    cells = rows * columns
    size = xp.ceil(xp.log(xp.maximum(cells, 64)) / np.log(_GROWTH)).astype(np.int64)
    high = xp.ceil(xp.log(rows) / np.log(_GROWTH)).astype(np.int64)  # what takes most shared memory beside costs
    size = xp.where(4 * cells > _COSTS_BYTES, 1000 + high, size)
    kind = size * len(SLOTS) + xp.searchsorted(xp.asarray(32 * np.array(SLOTS)), columns)
    order = xp.argsort(-kind * (LARGEST * LARGEST + 1) - cells)  # the largest come first: they take longest
    kind = kind[order]
    ends = runtime().get(xp.flatnonzero(kind[1:] != kind[:-1])).tolist()
    for low, high in zip([0, *(end + 1 for end in ends)], [*(end + 1 for end in ends), len(kind)], strict=True):
        some = order[low:high]
        if len(some):
            sizes = xp.stack([part[some].max() for part in (rows, columns, cells)])
            most_rows, most_columns, most_cells = runtime().get(sizes).tolist()
            yield Launch(fitting[some], most_rows, most_columns, 0 if rule == TRANSFERS else most_cells)


def run_launches(
    kernel: str, sizes: tuple[Any, Any], arguments: tuple[Any, ...], rule: int = EXACT, *, limited: bool = False,
    solved: int | None = None,
) -> SolvedPairs:  # fmt: skip
    """Solve problems, by their rows and columns on the device, with a kernel, which takes ``arguments`` behind
    what says which problems a launch has. Of those of more than ``solved`` costs, which is MOST_CELLS unless said, only
    the first prices are computed. The device may still be at work when this returns."""
    if solved is None:
        solved = MOST_CELLS // 2 if rule == SOFT else MOST_CELLS
    device, results = runtime(), SolvedBatch(len(sizes[0]))
    parts = list(launches(*sizes, rule, _PRICED_CELLS if limited or rule == TRANSFERS else MOST_CELLS))
    room = min(_SCRATCH_BYTES, device.free_bytes() // (4 * device.streams))
    needed = [part.warps * part.blocks(room) * part.scratch_bytes for part in parts]
    scratch = [  # launches of one stream follow each other, and have it in turn
        device.xp.empty(max(needed[k :: device.streams]), dtype=np.uint8) for k in range(device.streams) if needed[k:]
    ]
    drawn = device.xp.zeros(len(parts), dtype=np.uint32)
    with device.overlapping() as stream:  # all these arrays live until the other streams have been waited for
        for k, part in enumerate(parts):
            with stream():
                device.launch(
                    f"{kernel}:{part.slots}:{rule}", part.blocks(room), 32 * part.warps, part.warps * part.shared_bytes,
                    part.order, len(part.order), drawn[k : k + 1], *arguments, part.rows, part.columns, part.cells,
                    part.shared_bytes, part.in_shared, scratch[k % device.streams], part.scratch_bytes,
                    np.int32(solved), results.values, results.gaps, results.steps,
                )  # fmt: skip
    return results.solved()


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
        """Solve all that fit; there must be no more columns than rows."""
        given = (self.row_offsets, self.column_offsets, self.cost_offsets, self.masses_a, self.masses_b, self.costs)
        arrays = tuple(map(runtime().put, given))
        rows, columns = (ends[1:] - ends[:-1] for ends in arrays[:2])
        return run_launches("solve_given", (rows, columns), arrays)


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
    shared: bool
    """The last row and the last column stand for all words that cost the same onto all others."""


def left_to_cpu(cells: Any, threads: int) -> Int64Array:
    """Problems, given their numbers of costs on the device, that the CPU solves meanwhile.

    Those that are too large, and of the largest as many as make both end at about the same time. A problem is one
    warp's work, so a few large ones would keep the device waiting.
    """
    device = runtime()
    large = device.xp.flatnonzero(cells > LARGE_CELLS)
    if not len(large):
        return np.zeros(0, dtype=np.int64)
    seconds = _DEVICE_SECONDS * cells.astype(np.float64) ** 1.5
    sizes, spared, whole = (device.get(part) for part in (cells[large], seconds[large], seconds.sum()))
    order = np.argsort(-sizes, kind="stable")
    sizes, spared = sizes[order], spared[order]
    on_cpu = np.concatenate([[0], np.cumsum(_CPU_SECONDS * sizes**0.9)]) / threads
    on_device = whole - np.concatenate([[0], np.cumsum(spared)])
    longest = np.append(spared, 0) * _AT_A_TIME
    best = int(np.argmin(np.maximum(on_cpu, np.maximum(on_device, longest))))
    chosen: Int64Array = device.get(large)[order[: max(best, int((sizes > MOST_CELLS).sum()))]]
    return chosen


def solve_documents(
    pairs: tuple[Any, Any], sides: tuple[WholeSide, WholeSide], costs: TableCosts | RelatedCosts, rule: PairRule,
    cells: Any, limits: Any = None, solved: int | None = None,
) -> SolvedPairs:  # fmt: skip
    """The distances of pairs of documents by a rule.

    Pairs of no ``cells`` are left out. Distances that are soon proved to be above the limit of their document of x are
    infinite; ``solved`` as above. The device may still be at work when this returns.
    """
    device, (x, y) = runtime(), sides
    places = [device.put(part.astype(np.int32)) for part in pairs]
    lengths = [sizes * (cells > 0) for sizes in (x.lengths[places[0]], y.lengths[places[1]])]
    none, shared = np.int32(-1), False
    if isinstance(costs, TableCosts):
        shape, shared = costs.table.shape, costs.shared
        last = (np.int32(shape[0] - 1), np.int32(shape[1] - 1)) if shared else (none, none)
        known = (costs.table, costs.row_of, costs.column_of, int(shape[1]), *last, None, None, None, 0.0, rule.keep)
    else:
        known = (None, None, None, 0, none, none, costs.indptr, costs.words, costs.costs, costs.scale, costs.keep)
    how = np.float64(rule.regularization), np.float64(rule.tolerance), rule.count
    given = (part for side in (x, y) for part in (side.indptr, side.words, side.weights, side.sums))
    longest, least = device.xp.maximum(*lengths), device.xp.minimum(*lengths)
    if rule.kind == TRANSFERS or (rule.kind == SOFT and shared):  # either side may be that of the columns
        least = longest
    arguments = (*places, *given, *known, *how, limits)
    limited = limits is not None
    return run_launches("solve_documents", (longest, least), arguments, rule.kind, limited=limited, solved=solved)

"""Relaxed distances by panels of documents: tables of nearest costs on the device, and sums over all documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from wordferry.base.arrays import Csr, Int64Array
from wordferry.device.launch import runtime

PANEL = 64
"""Documents of a panel of packed entries (``cuda/panels.cuh``); of wide entries it has half as many."""
_PASSED = 32
_CODES = 512
_STEPS = 2**23 - 1
_THREADS = 256
_PACKED_ERROR = 2.0**-22
"""How far packed costs may be from those of the CPU, relative to the largest cost."""
_SUM_ERROR = 2.0**-24
"""How far a sum of float32 may be off, relative to the sum, for each word that went into it."""


@dataclass(frozen=True, eq=False)
class PanelSide:
    """Documents on the device."""

    indptr: Any
    words: Any
    """The word of each entry, by compact id."""
    masses: Any
    codes: Any
    """The code of each mass within its document, where no document has more different masses than there are codes."""
    mass_of_code: Any
    """(documents, codes) masses, code 0 being none; None without codes."""
    documents: int

    def __len__(self) -> int:
        return self.documents

    @classmethod
    def of(cls, bags: Csr) -> PanelSide:
        """Documents put on the device."""
        device = runtime()
        codes, masses = _coded(bags)
        data = np.ascontiguousarray(bags.data, dtype=np.float32)
        return cls(
            device.put(bags.indptr.astype(np.int64)),
            device.put(bags.indices.astype(np.int32)),
            device.put(data),
            None if codes is None else device.put(codes),
            None if masses is None else device.put(masses),
            bags.shape[0],
        )


def _coded(bags: Csr) -> tuple[Any, Any]:
    """The code of each entry's mass within its document, and the masses of each document's codes."""
    rows = np.repeat(np.arange(bags.shape[0]), np.diff(bags.indptr))
    order = np.lexsort((bags.data, rows))
    fresh = np.ones(bags.nnz, dtype=bool)
    fresh[1:] = (rows[order][1:] != rows[order][:-1]) | (bags.data[order][1:] != bags.data[order][:-1])
    places = np.cumsum(fresh)
    before = np.concatenate([[0], places])[bags.indptr[:-1]]  # different masses of earlier documents
    codes = np.empty(bags.nnz, dtype=np.int64)
    codes[order] = places - before[rows[order]]
    if codes.max(initial=0) >= _CODES:
        return None, None
    masses = np.zeros((bags.shape[0], int(codes.max(initial=0)) + 1), dtype=np.float32)
    masses[rows, codes] = bags.data
    return codes.astype(np.uint16), masses


class MovingPanel:
    """Documents whose words move onto others: each of their words has a row in the tables of the others."""

    def __init__(self, side: PanelSide, words: Int64Array, size: int) -> None:
        device = runtime()
        places = np.full(size, -1, dtype=np.int32)
        places[words] = np.arange(len(words), dtype=np.int32)
        self.side, self.words = side, words
        self.row_of = device.put(places)
        self.numbers = device.put(self.row_of[side.words])


@dataclass(frozen=True, eq=False)
class PanelTarget:
    """Some documents that words move onto, in panels."""

    side: PanelSide
    rows: slice
    wide: bool

    @property
    def count(self) -> int:
        return int(self.rows.stop - self.rows.start)

    @property
    def width(self) -> int:
        """Documents of a panel."""
        return PANEL // 2 if self.wide else PANEL

    @property
    def panels(self) -> int:
        panels: int = -(-self.count // self.width)
        return panels

    def empty(self, words: int, entry: int) -> Any:
        """Tables of the panels: every cost ``entry``, and no own masses."""
        device, pairs = runtime(), self.panels * words * PANEL // 2
        table = device.xp.empty((self.panels, words, PANEL), dtype=np.uint32)
        device.launch("empty_tables", -(-pairs // _THREADS), _THREADS, 0, table, pairs, np.uint32(entry), self.wide)
        return table

    def enter_own(self, table: Any, moving: MovingPanel, keep: int) -> None:
        """Enter what the documents have of the moving words: masses to stay, or with ``keep`` 1 a cost of 0, or with 2
        the masses themselves as costs."""
        side = self.side
        runtime().launch(
            "enter_own", self.count, _THREADS, 0, table, side.indptr, side.words, side.masses, side.codes,
            moving.row_of, len(moving.words), self.rows.start, self.wide, np.int32(keep),
        )  # fmt: skip

    def code_panels(self) -> Any:
        """(panel, code, document of the panel) masses."""
        xp, masses = runtime().xp, self.side.mass_of_code[self.rows.start : self.rows.stop]
        padded = xp.zeros((self.panels * PANEL, masses.shape[1]), dtype=np.float32)
        padded[: self.count] = masses
        return xp.ascontiguousarray(padded.reshape(self.panels, PANEL, -1).transpose(0, 2, 1))


@dataclass(frozen=True, eq=False)
class PanelTable:
    """The filled tables of a target's panels."""

    target: PanelTarget
    entries: Any
    words: int


class PanelCosts(Protocol):
    """What a distance knows of costs: the tables of documents that words move onto."""

    @property
    def scale(self) -> float:
        """No cost is larger; packed entries are shares of it."""

    @property
    def error(self) -> float:
        """How far a cost may be from that of the CPU."""

    @property
    def wide(self) -> bool:
        """Whether entries must be wide."""

    @property
    def one_sum(self) -> bool:
        """Whether the CPU adds up the words of a document in one sum, instead of two by turns."""

    def table(self, target: PanelTarget, moving: MovingPanel) -> PanelTable:
        """The tables of a target for the words of ``moving``."""


@dataclass(frozen=True, eq=False)
class RelatedCosts:
    """Costs of related words, c_max for all other pairs."""

    indptr: Any
    words: Any
    costs: Any
    scale: float
    """c_max."""
    keep: bool
    """Shared words move at no cost, instead of staying where they are first."""
    error: float = 0.0
    wide: bool = False
    one_sum: bool = False

    @classmethod
    def of(cls, graph: Csr, c_max: float, keep: bool) -> RelatedCosts:
        """A graph put on the device."""
        device = runtime()
        data = np.ascontiguousarray(graph.data, dtype=np.float32)
        indptr, words = device.put(graph.indptr.astype(np.int64)), device.put(graph.indices.astype(np.int32))
        return cls(indptr, words, device.put(data), float(np.float32(c_max)), keep)

    def table(self, target: PanelTarget, moving: MovingPanel) -> PanelTable:
        table = target.empty(len(moving.words), entry(self.scale, self.scale, target.wide))
        side, steps = target.side, _STEPS / max(self.scale, 1e-30)
        runtime().launch(
            "enter_related", target.count, _THREADS, 0, table, side.indptr, side.words, self.indptr, self.words,
            self.costs, moving.row_of, len(moving.words), target.rows.start, steps, target.wide,
        )  # fmt: skip
        target.enter_own(table, moving, int(self.keep))
        return PanelTable(target, table, len(moving.words))


@dataclass(frozen=True)
class PanelProducts:
    """No costs: the sums are products of masses."""

    scale: float = 1.0
    error: float = 0.0
    wide: bool = True
    one_sum: bool = False

    def table(self, target: PanelTarget, moving: MovingPanel) -> PanelTable:
        table = target.empty(len(moving.words), 0)
        target.enter_own(table, moving, 2)
        return PanelTable(target, table, len(moving.words))


def entry(cost: float, scale: float, wide: bool) -> int:
    """A cost without an own mass as kernels keep it in a table."""
    if wide:
        return int(np.float32(cost).view(np.uint32))
    steps = np.float32(_STEPS / max(scale, 1e-30))
    return min(int(np.float32(cost) * steps + np.float32(0.5)), _STEPS) << 9


@dataclass(frozen=True, eq=False)
class Pass:
    """Values of all pairs of two collections, a block at a time."""

    x: MovingPanel
    y: MovingPanel
    costs: PanelCosts
    sides: str = "both"
    """"left" moves the words of x onto y, "right" those of y onto x; "both" is the larger value."""

    @property
    def scale(self) -> float:
        """No value is larger."""
        return self.costs.scale

    @property
    def error(self) -> float:
        """How far a value may be from that of the CPU because costs are rounded."""
        return self.costs.error + (0.0 if self.wide else _PACKED_ERROR * self.costs.scale)

    @property
    def error_per_word(self) -> float:
        """And because sums are rounded in another way: relative to the value, for each word of the longer document."""
        if self.wide:
            return 0.0
        return 1.5 * _SUM_ERROR if self.costs.one_sum else _SUM_ERROR  # ours have half of the words each, twice

    @property
    def side_number(self) -> int:
        """The sides as kernels have them."""
        return ("both", "left", "right").index(self.sides)

    @property
    def wide(self) -> bool:
        return self.costs.wide or self.x.side.codes is None or self.y.side.codes is None

    def block_rows(self, room: int) -> int:
        """Documents of a block, such that its values and the tables of both sides fit."""
        words = len(self.x.words) + len(self.y.words)
        tables = 4.0 * max(words, 1) * (2 if self.wide else 1)
        rows = (np.sqrt(tables * tables + 16.0 * room) - tables) / 8
        return int(np.clip(rows // PANEL * PANEL, PANEL, 1 << 15))

    def blocks(self, room: int, step: int | None = None) -> Iterator[tuple[slice, slice, Any]]:
        """Rows, columns and values of blocks that need about ``room`` bytes, or that have ``step`` documents of either
        side; columns are the outer loop."""
        xp, step = runtime().xp, step or self.block_rows(room)
        for low in range(0, len(self.y.side), step):
            columns = slice(low, min(low + step, len(self.y.side)))
            target = PanelTarget(self.y.side, columns, self.wide)
            onto_y = None if self.sides == "right" else self.costs.table(target, self.x)
            for start in range(0, len(self.x.side), step):
                rows = slice(start, min(start + step, len(self.x.side)))
                values = xp.zeros((rows.stop - rows.start, columns.stop - columns.start), dtype=np.float32)
                if onto_y is not None:
                    self._add(onto_y, self.x, rows, values)
                if self.sides != "left":
                    onto_x = self.costs.table(PanelTarget(self.x.side, rows, self.wide), self.y)
                    self._add(onto_x, self.y, columns, values, transposed=True)
                yield rows, columns, values

    def _add(self, table: PanelTable, moving: MovingPanel, some: slice, values: Any, transposed: bool = False) -> None:
        """The larger of what stands in the block and the sums of ``moving[some]`` onto the target of the table."""
        target = table.target
        codes, masses = (0, None) if target.wide else (target.side.mass_of_code.shape[1], target.code_panels())
        passed = some.stop - some.start
        shared = 4 * (_PASSED * (PANEL + 1) + codes * PANEL)
        scale = 1.0 if target.wide else self.costs.scale * 2**23 / _STEPS
        wide = np.int32(0 if not target.wide else 2 if self.costs.one_sum else 1)
        runtime().launch(
            "panel_sums", target.panels * -(-passed // _PASSED), _THREADS, shared, table.entries, masses, codes,
            table.words, moving.side.indptr[some.start : some.stop + 1], moving.numbers, moving.side.masses, passed,
            target.count, values, values.shape[1], float(scale), wide, transposed,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class RelatedPass(Pass):
    """Costs are those of related words."""

    costs: RelatedCosts

    def of_pairs(self, rows: Any, columns: Any) -> Any:
        """The values of the CPU of some pairs; None where a bit for each word does not fit into shared memory."""
        device, costs, x, y = runtime(), self.costs, self.x.side, self.y.side
        words = len(costs.indptr) - 1
        shared = 8 * -(-words // 32) + 4 * (_THREADS + 4)
        if shared > device.shared_bytes:
            return None
        values = device.xp.empty(len(rows), dtype=np.float32)
        device.launch(
            "related_of_pairs", len(rows), _THREADS, shared, rows, columns, x.indptr, x.words, x.masses, y.indptr,
            y.words, y.masses, costs.indptr, costs.words, costs.costs, words, costs.scale, costs.keep,
            np.int32(self.side_number), values,
        )  # fmt: skip
        return values


@dataclass(frozen=True, eq=False)
class CosinePass:
    """Products of rows of length 1 on the device, as cosine distances; they have the bits of the CPU."""

    products: Pass
    rising: tuple[PanelSide, PanelSide]
    """The same rows with words in rising order."""
    lost: float
    """Distances below have lost digits in 1 - product; they are computed from differences."""
    scale: float = 1.0
    error: float = 0.0
    error_per_word: float = 0.0

    def block_rows(self, room: int) -> int:
        """Documents of a block."""
        return self.products.block_rows(room)

    def blocks(self, room: int, step: int | None = None) -> Iterator[tuple[slice, slice, Any]]:
        """Rows, columns and values of blocks."""
        for rows, columns, products in self.products.blocks(room, step):
            values = 1 - products
            places, width = runtime().xp.flatnonzero(values < np.float32(self.lost)), values.shape[1]
            values.ravel()[places] = self.of_pairs(rows.start + places // width, columns.start + places % width)
            yield rows, columns, values

    def of_pairs(self, rows: Any, columns: Any) -> Any:
        """The values of some pairs."""
        device, sides = runtime(), (self.products.x.side, *self.rising)
        values = device.xp.empty(len(rows), dtype=np.float32)
        device.launch(
            "cosines_of_pairs", -(-len(rows) // 128), 128, 0, rows, columns, len(rows),
            *(part for side in sides for part in (side.indptr, side.words, side.masses)), self.lost, values,
        )  # fmt: skip
        return values

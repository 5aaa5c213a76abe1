"""A distance of two documents as moves of the reference, with the kind of each; their costs sum to the distance."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from wordferry.base.arrays import BoolArray, Float64Array, Int64Array, distinct, entries_of, run_bounds
from wordferry.base.runtime import check_cancelled
from wordferry.compare.bags import Bags
from wordferry.compare.frame import Frame
from wordferry.kernels import passes
from wordferry.kernels.reference import Move

Bag = dict[int, float]
Row = tuple[Int64Array, npt.NDArray[Any]]
"""The words of a document and their masses: shares, or whole numbers."""
Plan = tuple[npt.NDArray[np.integer], npt.NDArray[np.integer], npt.NDArray[Any]]
"""Moves between places of two documents' words: from, to, and how much."""
Solver = Callable[[npt.NDArray[Any], npt.NDArray[Any], Float64Array], Plan]
KIND = "<U7"
"""The type of an array of kinds."""
_PRICED = np.array(["moved", "related", "c_max", "same"], dtype=KIND)
_NO_KINDS = np.zeros(0, dtype=KIND)
_BLOCK = 1024
"""Words whose costs are computed together; between two blocks cancelling is noticed."""


@dataclass(frozen=True, eq=False)
class Taken:
    """A distance taken apart: moves as columns, the kind of each, and the direction they show.

    A kind says how a move is priced: "same" (stays, free), "moved" (at the distance of the vectors), "related" (at
    the distance of related words), "c_max" (no related word), or for distances without moves "both", "a" or "b":
    whose word it is.
    """

    sources: Int64Array
    """Words that mass comes from; -1 for none."""
    targets: Int64Array
    masses: Float64Array
    distances: Float64Array
    kinds: npt.NDArray[np.str_]
    side: str = "both"
    facts: dict[str, float] = field(default_factory=dict)
    """Figures that belong to the value, by name: how well it is known."""

    @classmethod
    def of(cls, moves: Sequence[Move], kinds: npt.ArrayLike = ()) -> Taken:
        """The columns of moves."""
        sources, targets, masses, distances = zip(*moves, strict=True) if moves else ((), (), (), ())
        ends = (np.array([-1 if word is None else word for word in some], np.int64) for some in (sources, targets))
        values = (np.array(some, np.float64) for some in (masses, distances))
        return cls(next(ends), next(ends), next(values), next(values), np.asarray(kinds, dtype=KIND))

    @classmethod
    def join(cls, parts: Sequence[Taken]) -> Taken:
        """The moves of several, one after the other."""
        words = (np.concatenate([getattr(part, name) for part in parts]) for name in ("sources", "targets"))
        values = (np.concatenate([getattr(part, name) for part in parts]) for name in ("masses", "distances"))
        kinds = np.concatenate([part.kinds for part in parts])
        return cls(next(words), next(words), next(values), next(values), kinds)

    @cached_property
    def total(self) -> float:
        """What all moves cost."""
        return math.fsum((self.masses * self.distances).tolist())


_NOTHING = Taken.of([])


def bag_of(bags: Bags) -> Bag:
    """The only document, with masses in float64: exact shares of counts where there are counts."""
    words, masses = row_of(bags)
    return dict(zip(words.tolist(), masses.tolist(), strict=True))


def row_of(bags: Bags) -> Row:
    """What :func:`bag_of` gives, as columns."""
    words, data = bags.masses.row(0)
    values = np.asarray(data if bags.counts is None else bags.counts[: len(words)], dtype=np.float64)
    return words.astype(np.int64), values / values.sum()


def least_moves(frame: Frame) -> Float64Array | None:
    """What a unit of each word costs at least when it moves to another word, by the graph; None without one."""
    graph = frame.graph
    if graph is None or np.isnan(frame.c_max):
        return None
    least = np.full(len(frame.words), frame.c_max)
    some = np.flatnonzero(np.diff(graph.indptr) > 0)
    if len(some):
        least[some] = np.minimum(np.minimum.reduceat(graph.data, graph.indptr[some]), frame.c_max)
    return least


class Costs:
    """Costs between words of two documents, and what kind of cost each is."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self._place = np.full(len(frame.words), -1, dtype=np.int64)

    def between(self, x: Bag, y: Bag) -> Callable[[int, int], float]:
        """The cost of a word of one document and a word of the other, as a function."""
        table: dict[int, dict[int, float]] = {word: {} for word in (*x, *y)}
        values = self.matrix(*(np.fromiter(bag, np.int64, len(bag)) for bag in (x, y)))
        for i, row in zip(x, values.tolist(), strict=True):
            check_cancelled()
            table[i].update(zip(y, row, strict=True))
        for j, column in zip(y, values.T.tolist(), strict=True):
            table[j].update(zip(x, column, strict=True))
        return lambda i, j: table[i][j]

    def matrix(self, rows: Int64Array, columns: Int64Array) -> Float64Array:
        """Costs of rows' words to columns' words, 0 for the same word."""
        if self.frame.graph is None:
            first, second = (self.frame.vectors_of(words) for words in (rows, columns))
            costs: Float64Array = self.frame.price(passes.distances_of(first, second, 1)).astype(np.float64)
            if self.frame.unknown is not None:
                costs[self.frame.unknown[rows]] = self.frame.far
                costs[:, self.frame.unknown[columns]] = self.frame.far
        else:
            costs = np.full((len(rows), len(columns)), self.frame.c_max, dtype=np.float64)
            self._place[columns] = np.arange(len(columns))
            row, entry = self._entries(rows)
            column = self._place[self.frame.graph.indices[entry]]
            self._place[columns] = -1
            there = column >= 0
            costs[row[there], column[there]] = np.minimum(self.frame.graph.data[entry[there]], self.frame.c_max)
        costs[np.equal.outer(rows, columns)] = 0.0
        return costs

    def _entries(self, rows: Int64Array) -> tuple[Int64Array, Int64Array]:
        """The entries of the graph that belong to words: the place of each one's word in ``rows``, and its own."""
        assert self.frame.graph is not None
        ends, entries = entries_of(self.frame.graph.indptr, rows)
        return np.repeat(np.arange(len(rows)), np.diff(ends)), entries

    def priced(self, taken: Taken, side: str = "both") -> Taken:
        """Moves with the kind of each."""
        sources, targets = taken.sources, taken.targets
        graph, unknown = self.frame.graph, self.frame.unknown
        found = np.zeros(len(sources), dtype=np.int64)  # places in _PRICED
        if graph is not None:
            words = distinct(sources)
            row, entry = self._entries(words)
            width = len(self.frame.words)
            pairs = np.sort(words[row] * width + graph.indices[entry])
            asked = sources * width + targets
            place = np.minimum(np.searchsorted(pairs, asked), max(len(pairs) - 1, 0))
            found[:] = np.where(pairs[place] == asked, 1, 2) if len(pairs) else 2
        if unknown is not None:
            found[unknown[sources] | unknown[targets]] = 2
        found[sources == targets] = 3
        return replace(taken, kinds=_PRICED[found], side=side)

    def _less_common(self, x: Row, y: Row, only: BoolArray | None = None) -> tuple[Taken, Row, Row]:
        """The mass common to both, which goes nowhere, and what is left of both; ``only`` of some words."""
        ends, stays, rest = (x, y), [], []
        for (words, masses), (others, more) in zip(ends, ends[::-1], strict=True):
            there = np.zeros(len(self.frame.words), dtype=more.dtype)
            there[others] = more
            common = np.minimum(masses, there[words])
            if only is not None:
                common[~only[words]] = 0
            stays.append((words[common > 0], common[common > 0]))
            rest.append((words, masses - common))
        if not all((masses > 0).any() for _, masses in rest):  # equal bags up to rounding have nothing left
            rest = [(words[:0], masses[:0]) for words, masses in rest]
        words, masses = stays[0]
        left, right = ((words[masses > 0], masses[masses > 0]) for words, masses in rest)
        return Taken(words, words, masses, np.zeros(len(words)), _NO_KINDS), left, right

    def one_way(self, x: Row, y: Row, overlap: str) -> Taken:
        """What :func:`wordferry.kernels.reference.one_way` gives, a block of words at a time."""
        (words, masses), (targets, _) = x, y
        blocks = []
        if overlap != "keep":
            stays, (words, masses), rest = self._less_common(x, y)
            blocks.append(stays)
            targets = rest[0] if overlap == "residual" else targets
        for start in range(0, len(words), _BLOCK):
            check_cancelled()
            some = slice(start, start + _BLOCK)
            nearest = self._nearest if self.frame.graph is None else self._nearest_related
            best, near = nearest(words[some], targets, overlap)
            blocks.append(Taken(words[some], targets[best], masses[some], near, _NO_KINDS))
        return Taken.join(blocks or [_NOTHING])

    def _nearest(self, words: Int64Array, targets: Int64Array, overlap: str) -> tuple[Int64Array, Float64Array]:
        """The place of the first nearest target of each word, and its cost; with "omr" of the nearest other word."""
        costs = self.matrix(words, targets)
        if overlap == "omr":
            costs[np.equal.outer(words, targets)] = np.inf
        best: Int64Array = costs.argmin(axis=1)
        return best, costs[np.arange(len(words)), best]

    def _nearest_related(self, words: Int64Array, targets: Int64Array, overlap: str) -> tuple[Int64Array, Float64Array]:
        """:meth:`_nearest` by the graph, whose entries alone can be nearer than c_max."""
        assert self.frame.graph is not None
        best = (words == targets[0]).astype(np.int64) % len(targets)  # whichever comes first: it costs c_max
        near = np.full(len(words), self.frame.c_max, dtype=np.float64)
        self._place[targets] = np.arange(len(targets))
        row, entry = self._entries(words)
        column, values = self._place[self.frame.graph.indices[entry]], self.frame.graph.data[entry].astype(np.float64)
        same = self._place[words]
        self._place[targets] = -1
        nearer = np.flatnonzero((column >= 0) & (values < self.frame.c_max) & (column != same[row]))
        row, column, values = row[nearer], column[nearer], values[nearer]
        if len(row):
            bounds = run_bounds(row)
            starts = bounds[:-1]
            least = np.minimum.reduceat(values, starts)
            first = values == np.repeat(least, bounds[1:] - starts)
            near[row[starts]] = least
            best[row[starts]] = np.minimum.reduceat(np.where(first, column, len(targets)), starts)
        if overlap != "omr":
            itself = same >= 0
            best[itself], near[itself] = same[itself], 0.0
        return best, near

    def cheapest(self, x: Row, y: Row, overlap: str, solver: Solver) -> Taken:
        """What :func:`wordferry.kernels.reference.wmd_moves` gives, in the units of the masses."""
        blocks = [_NOTHING]
        if overlap != "keep" or self.frame.unknown is not None:
            stays, x, y = self._less_common(x, y, None if overlap != "keep" else self.frame.unknown)
            blocks.append(stays)
        if len(x[0]):
            check_cancelled()
            costs = self.matrix(x[0], y[0])
            rows, columns, masses = solver(x[1], y[1], costs)
            blocks.append(Taken(x[0][rows], y[0][columns], masses, costs[rows, columns], _NO_KINDS))
        return Taken.join(blocks)


def relaxed_taken(frame: Frame, x: Row, y: Row, overlap: str, side: str) -> Taken:
    """The direction of a relaxed distance that costs more, or the one asked for."""
    costs = Costs(frame)
    ends = {"left": (x, y), "right": (y, x)}
    sides = {name: costs.one_way(*ends[name], overlap) for name in ends if side in ("both", name)}
    side = max(sides, key=lambda name: sides[name].total)
    taken = costs.priced(sides[side], side)
    # A word without a related one is as far from every word: it goes to none of them in particular.
    return replace(taken, targets=np.where(taken.kinds == "c_max", -1, taken.targets))


Priced = Callable[[Int64Array, Float64Array, Float64Array], tuple[Float64Array, Float64Array]]
"""From words and their masses in two documents to what moves of each of them, and how far."""


def by_word(x: Bags, y: Bags, price: Priced) -> Taken:
    """What each word of either document adds, by whose word it is."""
    size = 2, x.masses.shape[1]
    masses, there = np.zeros(size), np.zeros(size, dtype=bool)
    for side, bags in enumerate((x, y)):
        words, values = row_of(bags)
        masses[side, words], there[side, words] = values, True
    words = np.flatnonzero(there.any(axis=0))
    left, right = there[:, words]
    kinds = np.where(left & right, "both", np.where(left, "a", "b")).astype(KIND)
    return Taken(np.where(left, words, -1), np.where(right, words, -1), *price(words, *masses[:, words]), kinds)

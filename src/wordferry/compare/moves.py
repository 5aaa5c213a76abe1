"""A distance of two documents as moves of the reference, with the kind of each; their costs sum to the distance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from wordferry.base.arrays import BoolArray, Float64Array, Int64Array, distinct
from wordferry.base.cancel import check_cancelled
from wordferry.compare.bags import Bags
from wordferry.compare.frame import Frame
from wordferry.kernels import native_transport, reference
from wordferry.kernels.reference import Move

Bag = dict[int, float]
_BLOCK = 1024
"""Words whose costs are computed together; between two blocks cancelling is noticed."""


@dataclass(frozen=True)
class Taken:
    """A distance taken apart: moves, the kind of each, and the direction they show.

    A kind says how a move is priced: "same" (stays, free), "moved" (at the distance of the vectors), "related" (at
    the distance of related words), "c_max" (no related word), or for distances without moves "both", "a" or "b":
    whose word it is.
    """

    moves: list[Move]
    kinds: list[str]
    side: str = "both"
    facts: dict[str, float] = field(default_factory=dict)
    """Figures that belong to the value, by name: how well it is known."""


def bag_of(bags: Bags) -> Bag:
    """The only document, with masses in float64: exact shares of counts where there are counts."""
    words, data = bags.masses.row(0)
    values = np.asarray(data if bags.counts is None else bags.counts[: len(words)], dtype=np.float64)
    return dict(zip(words.tolist(), (values / values.sum()).tolist(), strict=True))


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
        values = self.matrix(_words(x), _words(y))
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
            costs: Float64Array = self.frame.price(native_transport.word_distances(first, second, 1)).astype(np.float64)
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
        graph = self.frame.graph
        assert graph is not None
        starts = graph.indptr[rows].astype(np.int64)
        sizes = graph.indptr[rows + 1].astype(np.int64) - starts
        before = np.cumsum(sizes) - sizes
        entries: Int64Array = np.repeat(starts - before, sizes) + np.arange(sizes.sum())
        return np.repeat(np.arange(len(rows)), sizes), entries

    def kinds(self, moves: list[Move]) -> list[str]:
        """How each move is priced."""
        sources, targets = (np.array([move[side] for move in moves], dtype=np.int64) for side in (0, 1))
        graph, unknown = self.frame.graph, self.frame.unknown
        found = np.full(len(moves), "moved", dtype="<U7")
        if graph is not None:
            words = distinct(sources)
            row, entry = self._entries(words)
            width = len(self.frame.words)
            pairs = words[row] * width + graph.indices[entry]
            found = np.where(np.isin(sources * width + targets, pairs), "related", "c_max")
        if unknown is not None:
            found[unknown[sources] | unknown[targets]] = "c_max"
        found[sources == targets] = "same"
        return list(found.tolist())

    def taken(self, moves: list[Move], side: str = "both") -> Taken:
        """Moves and their kinds."""
        return Taken(moves, self.kinds(moves), side)

    def one_way(self, x: Bag, y: Bag, overlap: str) -> list[Move]:
        """What :func:`wordferry.kernels.reference.one_way` gives, a block of words at a time."""
        moves = [] if overlap == "keep" else reference.staying(x, y)
        if overlap != "keep":
            x, rest = reference.residual(x, y)
            y = rest if overlap == "residual" else y
        words, targets, masses = _words(x), _words(y), list(x.values())
        for start in range(0, len(words), _BLOCK):
            check_cancelled()
            block = words[start : start + _BLOCK]
            best, near = (self._nearest if self.frame.graph is None else self._nearest_related)(block, targets, overlap)
            ends = zip(block.tolist(), targets[best].tolist(), masses[start : start + _BLOCK], strict=True)
            moves += [Move(i, j, mass, cost) for (i, j, mass), cost in zip(ends, near.tolist(), strict=True)]
        return moves

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
        order = np.lexsort((column, values, row))[::-1]  # the last that is written is the first of its row
        best[row[order]], near[row[order]] = column[order], values[order]
        if overlap != "omr":
            itself = same >= 0
            best[itself], near[itself] = same[itself], 0.0
        return best, near

    def cheapest(self, x: Bag, y: Bag, overlap: str, solver: reference.Solver) -> list[Move]:
        """What :func:`wordferry.kernels.reference.wmd_moves` gives."""
        moves = [] if overlap == "keep" else reference.staying(x, y)
        if overlap != "keep":
            x, y = reference.residual(x, y)
        elif self.frame.unknown is not None:
            x, y, moves = _without_common(x, y, self.frame.unknown)
        if x:
            check_cancelled()
            costs = self.matrix(_words(x), _words(y))
            rows, columns = list(x), list(y)
            plan = solver(list(x.values()), list(y.values()), costs)
            moves += [Move(rows[i], columns[j], mass, float(costs[i, j])) for i, j, mass in plan]
        return moves


def _without_common(x: Bag, y: Bag, some: BoolArray) -> tuple[Bag, Bag, list[Move]]:
    """Two bags less the common mass of some words, which stays, and its moves."""
    stays = reference.staying({word: mass for word, mass in x.items() if some[word]}, y)
    common = {move.source: move.mass for move in stays}
    left, right = ({word: mass - common.get(word, 0) for word, mass in bag.items()} for bag in (x, y))
    return {w: m for w, m in left.items() if m > 0}, {w: m for w, m in right.items() if m > 0}, stays


def _words(bag: Bag) -> Int64Array:
    return np.fromiter(bag, dtype=np.int64, count=len(bag))


def relaxed_taken(frame: Frame, x: Bag, y: Bag, overlap: str, side: str) -> Taken:
    """The direction of a relaxed distance that costs more, or the one asked for."""
    costs = Costs(frame)
    ends = {"left": (x, y), "right": (y, x)}
    sides = {name: costs.one_way(*ends[name], overlap) for name in ends if side in ("both", name)}
    side = reference.chosen_side(sides, side)
    kinds = costs.kinds(sides[side])
    # A word without a related one is as far from every word: it goes to none of them in particular.
    moves = [
        move._replace(target=None) if kind == "c_max" else move for move, kind in zip(sides[side], kinds, strict=True)
    ]
    return Taken(moves, kinds, side)


def by_word(moves: list[Move]) -> Taken:
    """What each word adds, by whose word it is."""
    kinds = ["a" if move.target is None else "b" if move.source is None else "both" for move in moves]
    return Taken(moves, kinds)

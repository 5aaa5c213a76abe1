"""A distance of two documents as moves of the reference, with the kind of each; their costs sum to the distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wordferry.base.arrays import Float64Array
from wordferry.base.cancel import check_cancelled
from wordferry.compare.bags import Bags
from wordferry.compare.frame import Frame
from wordferry.kernels import native_transport, reference
from wordferry.kernels.reference import Move

Bag = dict[int, float]


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
    """Costs between the words of two documents, and what kind of cost each is."""

    def __init__(self, frame: Frame, x: Bag, y: Bag) -> None:
        self.frame = frame
        values = self._matrix(list(x), list(y))
        self._source: int | None = None
        self._table: dict[int, dict[int, float]] = {word: {} for word in (*x, *y)}
        for i, row in zip(x, values.tolist(), strict=True):
            check_cancelled()
            self._table[i].update(zip(y, row, strict=True))
        for j, column in zip(y, values.T.tolist(), strict=True):
            check_cancelled()
            self._table[j].update(zip(x, column, strict=True))

    def __call__(self, i: int, j: int) -> float:
        """The cost of a word of one document and a word of the other."""
        if i != self._source:  # the reference asks for the costs of one word after the other, and cannot be cancelled
            self._source = i
            check_cancelled()
        return self._table[i][j]

    def _matrix(self, rows: list[int], columns: list[int]) -> Float64Array:
        """Costs of rows' words to columns' words, 0 for the same word."""
        graph, c_max = self.frame.graph, self.frame.c_max
        if graph is None:
            first, second = (self.frame.vectors_of(np.array(words, dtype=np.int64)) for words in (rows, columns))
            costs = native_transport.word_distances(first, second, 1).astype(np.float64)
            if self.frame.unknown is not None:
                costs[self.frame.unknown[rows]] = self.frame.far
                costs[:, self.frame.unknown[columns]] = self.frame.far
        else:
            costs = np.full((len(rows), len(columns)), c_max, dtype=np.float64)
            place = {word: number for number, word in enumerate(columns)}
            for i, word in enumerate(rows):
                for other, value in zip(*(part.tolist() for part in graph.row(word)), strict=True):
                    if other in place:
                        costs[i, place[other]] = min(value, c_max)
        costs[np.equal.outer(rows, columns)] = 0.0
        return costs

    def kind(self, move: Move) -> str:
        """How a move is priced."""
        graph = self.frame.graph
        if move.source == move.target:
            return "same"
        unknown = self.frame.unknown
        if unknown is not None and (unknown[move.source] or unknown[move.target]):
            return "c_max"
        if graph is None:
            return "moved"
        assert move.source is not None
        related = move.target in graph.row(move.source)[0] and move.distance <= self.frame.c_max
        return "related" if related else "c_max"

    def taken(self, moves: list[Move], side: str = "both") -> Taken:
        """Moves and their kinds."""
        return Taken(moves, [self.kind(move) for move in moves], side)


def relaxed_taken(frame: Frame, x: Bag, y: Bag, overlap: str, side: str) -> Taken:
    """The direction of a relaxed distance that costs more, or the one asked for."""
    costs = Costs(frame, x, y)
    sides = reference.rwmd_moves(x, y, costs, overlap)
    side = reference.chosen_side(sides, side)
    kinds = [costs.kind(move) for move in sides[side]]
    # A word without a related one is as far from every word: it goes to none of them in particular.
    moves = [
        move._replace(target=None) if kind == "c_max" else move for move, kind in zip(sides[side], kinds, strict=True)
    ]
    return Taken(moves, kinds, side)


def by_word(moves: list[Move]) -> Taken:
    """What each word adds, by whose word it is."""
    kinds = ["a" if move.target is None else "b" if move.source is None else "both" for move in moves]
    return Taken(moves, kinds)
